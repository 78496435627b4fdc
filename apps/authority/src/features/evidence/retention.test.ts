import {
  asJson,
  asReceived,
  draftRetentionCheckpoint,
  executionEvidenceForm,
  readReceived,
  recordDigest,
  retentionCheckpointForm,
  verifyReceived,
  writeJson,
} from '@chancery/protocol'
import type { ExecutionEvidence, JsonObject, RetentionCheckpoint } from '@chancery/protocol'
import { accepted, detailsOf, eventsOf, refused } from '@chancery/testkit'
import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { failuresOf, forgeRows, openTestStore, parseLines } from './evidence.suite.ts'
import { readBoundary } from './verify-store.ts'
import { findPrefix } from './prefix.ts'
import { sweepRemoved } from './removal.ts'
import { rowsOf } from '../../testing/rows.suite.ts'

let evidenceStore: Awaited<ReturnType<typeof openTestStore>>
beforeEach(async () => {
  evidenceStore = await openTestStore()
})
afterEach(() => evidenceStore.stop())

const DAY = 86_400
const apply = (body: JsonObject = { older_than_days: 1 }) => evidenceStore.post('/admin/evidence/retention/apply', body)
const linkOf = (record: ExecutionEvidence): string => recordDigest(asReceived(executionEvidenceForm, record))
const checkpointOf = (answer: JsonObject): RetentionCheckpoint =>
  readReceived(retentionCheckpointForm, answer['checkpoint'] ?? null).record
const sequences = async (): Promise<readonly number[]> =>
  parseLines(await evidenceStore.lines()).map((event) => (event['entry'] as { store_sequence: number }).store_sequence)
const storedRows = async (): Promise<readonly number[]> =>
  (
    await evidenceStore.na.core.database.read
      .selectFrom('evidence_entries')
      .select('store_sequence')
      .orderBy('store_sequence')
      .execute()
  ).map((row) => row.store_sequence)

/** A decision, its justification and one execution of a resource. */
async function step(resource_sequence: number, previous?: ExecutionEvidence): Promise<ExecutionEvidence> {
  const { decision } = await evidenceStore.decide()
  const link = previous === undefined ? {} : { prev_resource_digest: linkOf(previous) }
  const record = await evidenceStore.evidence(decision, {
    resource_id: 'r',
    resource_action: 'rotate',
    resource_sequence,
    ...link,
  })
  accepted(await evidenceStore.submit(record), 201)
  return record
}

describe('POST /admin/evidence/retention/apply', () => {
  it('200: removes a prefix before a signed checkpoint; heads and the chain continue', async () => {
    const one = await step(1)
    const two = await step(2, one)
    const before = parseLines(await evidenceStore.lines())
    evidenceStore.clock.advance(3 * DAY)
    const answer = await apply()
    const checkpoint = checkpointOf(accepted(answer))
    expect(checkpoint).toMatchObject({
      removed_through_sequence: 6,
      removed_count: 6,
      last_removed_entry_digest: before[5]?.['entry_digest'],
      created_at: '2026-01-05T03:04:05.678000Z',
      cutoff: '2026-01-04T03:04:05.678000Z',
      previous_checkpoint_id: null,
      resource_heads: { r: { resource_sequence: 2, record_digest: linkOf(two) } },
      issued_by: 'na-test',
    })
    const keys = [evidenceStore.na.core.signing.publicKey]
    expect(await verifyReceived(asReceived(retentionCheckpointForm, checkpoint), keys)).toEqual({ ok: true })
    const [event] = await eventsOf(evidenceStore.na, answer)
    expect(event?.['event_type']).toBe('evidence_retention_applied')
    expect(detailsOf(event)).toMatchObject({ removed_count: 6, removed_through_sequence: 6 })
    expect(await sequences()).toEqual([7])
    expect(parseLines(await evidenceStore.lines()).at(-1)?.['payload']).toEqual(checkpoint)
    expect(failuresOf(await evidenceStore.report())).toEqual([])
    expect(accepted(await evidenceStore.get('/admin/evidence/status'))).toMatchObject({
      entries: 1,
      retention_checkpoint: 6,
    })

    expect(accepted(await apply())).toEqual({ removed_count: 0, checkpoint: null, stopped_by: 'too_young' })
    const three = await step(3, two)
    evidenceStore.clock.advance(3 * DAY)
    const second = checkpointOf(accepted(await apply()))
    expect(second).toMatchObject({
      removed_through_sequence: 10,
      removed_count: 4,
      previous_checkpoint_id: checkpoint.checkpoint_id,
    })
    expect(second.resource_heads).toEqual({ r: { resource_sequence: 3, record_digest: linkOf(three) } })
    expect(failuresOf(await evidenceStore.report())).toEqual([])
  })

  it('200: continues a resource whose records are all removed', async () => {
    const one = await step(1)
    const two = await step(2, one)
    evidenceStore.clock.advance(3 * DAY)
    expect(accepted(await apply())).toMatchObject({ removed_count: 6, stopped_by: 'end' })
    const head = { resource_sequence: 2, record_digest: linkOf(two) }
    expect(accepted(await evidenceStore.get('/admin/evidence/resource-heads/r'))).toMatchObject(head)
    expect(accepted(await evidenceStore.get('/admin/evidence/resources/r'))).toEqual({
      resource_id: 'r',
      head,
      truncated: false,
      entries: [],
      verification: { verified: true, checked_entries: 0, decisions: 0, executions: 0, rejections: 0, failures: [] },
    })
    const { decision } = await evidenceStore.decide()
    const wrong = await evidenceStore.evidence(decision, {
      resource_id: 'r',
      resource_action: 'rotate',
      resource_sequence: 1,
    })
    refused(await evidenceStore.submit(wrong), 409, 'evidence_conflict')
    await step(3, two)
    expect(failuresOf(await evidenceStore.report())).toEqual([])
  })

  it('a checkpoint has a limited number of heads: the prefix ends before a resource that would be one more', async () => {
    await step(1)
    evidenceStore.clock.advance(3 * DAY)
    const { read } = evidenceStore.na.core.database
    const now = evidenceStore.clock.now()
    const limits = { now, cutoff: now, maxHeads: 2 }
    const all = { removed_through: 0, last_sequence: 3 }
    expect(await findPrefix(read, all, { ...limits, heads: ['a'] })).toMatchObject({ through: 3, stoppedBy: 'end' })
    expect(await findPrefix(read, all, { ...limits, heads: ['a', 'r'] })).toMatchObject({ through: 3 })
    // The execution is not removed, so its decision is not either.
    expect(await findPrefix(read, all, { ...limits, heads: ['a', 'b'] })).toMatchObject({
      through: 0,
      stoppedBy: 'resource_head_limit',
    })
  })

  it('200: removes nothing that is too young or still authorizes, and audits that', async () => {
    await evidenceStore.decide()
    const answer = await apply()
    expect(accepted(answer)).toEqual({ removed_count: 0, checkpoint: null, stopped_by: 'too_young' })
    expect((await eventsOf(evidenceStore.na, answer)).map((event) => event['event_type'])).toEqual([
      'evidence_retention_applied',
    ])
  })

  it('200: a decision with entries on both sides stays complete', async () => {
    await evidenceStore.decide()
    const { decision } = await evidenceStore.decide()
    await evidenceStore.decide()
    evidenceStore.clock.advance(3 * DAY)
    accepted(await evidenceStore.submit(await evidenceStore.evidence(decision)), 201)
    const split = accepted(await apply())
    expect([checkpointOf(split).removed_through_sequence, split['stopped_by']]).toEqual([2, 'split_decision'])
    expect(failuresOf(await evidenceStore.report())).toEqual([])
  })

  it('200: an anchor over the removed part is still valid', async () => {
    await evidenceStore.decide()
    accepted(await evidenceStore.post('/admin/evidence/anchors', {}), 201)
    evidenceStore.clock.advance(3 * DAY)
    await evidenceStore.decide()
    expect(checkpointOf(accepted(await apply())).removed_through_sequence).toBe(2)
    accepted(await evidenceStore.post('/admin/evidence/anchors', {}), 201)
    const report = await evidenceStore.report()
    expect(failuresOf(report)).toEqual([])
    expect(report['anchors']).toMatchObject({
      anchors_checked: 2,
      anchors_matched: 1,
      anchors_before_export: 1,
      linked_start: true,
    })
  })

  it('200: hides the prefix with the checkpoint; rows are deleted afterwards, also after a crash in between', async () => {
    await evidenceStore.decide()
    await evidenceStore.decide()
    evidenceStore.clock.advance(3 * DAY)
    accepted(await apply())
    expect(await storedRows()).toEqual([5])
    // The state after a crash between checkpoint and deletion: a hidden row still exists.
    await forgeRows(
      evidenceStore.na,
      "insert into evidence_entries (store_sequence, entry_kind, recorded_at, entry_digest, line) values (3, 'decision', '2026', 'x', '{}')",
    )
    expect(await sequences()).toEqual([5])
    expect(accepted(await evidenceStore.get('/admin/evidence?entry_kind=decision'))['count']).toBe(0)
    expect(failuresOf(await evidenceStore.report())).toEqual([])
    await sweepRemoved(evidenceStore.na.parts, new AbortController().signal)
    expect(await storedRows()).toEqual([5])
  })

  it('200: a removed evidence_id may be used again, even before its row is deleted', async () => {
    const { decision } = await evidenceStore.decide()
    const old = await evidenceStore.evidence(decision)
    accepted(await evidenceStore.submit(old), 201)
    evidenceStore.clock.advance(3 * DAY)
    accepted(await apply())
    await forgeRows(
      evidenceStore.na,
      `insert into evidence_entries (store_sequence, entry_kind, recorded_at, entry_digest, evidence_id, line) values (3, 'execution', '2026', 'x', '${old.evidence_id}', '{}')`,
    )
    const next = (await evidenceStore.decide()).decision
    accepted(await evidenceStore.submit(await evidenceStore.evidence(next, { evidence_id: old.evidence_id })), 201)
    expect(failuresOf(await evidenceStore.report())).toEqual([])
  })

  it('a checkpoint is read whatever its number of resources, and an unreadable one covers nothing', async () => {
    const db = rowsOf(evidenceStore.na.core.database)
    const head = { resource_sequence: 1, record_digest: 'd' }
    const checkpoint = draftRetentionCheckpoint({
      checkpoint_id: 'c-1',
      created_at: '2026-01-02T00:00:00Z',
      cutoff: '2026-01-01T00:00:00Z',
      removed_through_sequence: 1,
      last_removed_entry_digest: 'd',
      removed_count: 1,
      heads: new Map(Array.from({ length: 20_000 }, (_, at) => [`r-${at}`, head])),
      previous_checkpoint_id: null,
      issued_by: 'na-test',
    })
    const insert = (through: number, text: string) =>
      sql`insert into evidence_checkpoints (removed_through_sequence, checkpoint_id, checkpoint_json, created_at) values (${through}, ${`c-${through}`}, ${text}, '2026')`.execute(
        db,
      )
    await insert(1, writeJson(asJson(checkpoint)))
    expect(Object.keys((await readBoundary(db))?.resource_heads ?? {})).toHaveLength(20_000)
    await insert(2, '{"cut')
    expect(await readBoundary(db)).toBeUndefined()
  })

  it.each<[string, JsonObject]>([
    ['absent', {}],
    ['zero', { older_than_days: 0 }],
    ['a string', { older_than_days: '30' }],
    ['too large', { older_than_days: 1_000_000 }],
  ])('400: older_than_days %s', async (_name, body) => {
    refused(await apply(body), 400, 'invalid_retention')
  })

  it('403: privileged operators only', async () => {
    refused(
      await evidenceStore.post('/admin/evidence/retention/apply', { older_than_days: 1 }, 'standard'),
      403,
      'insufficient_operator_tier',
    )
  })

  it('409: another run has the lease', async () => {
    await sql`insert into job_leases (name, holder, token, acquired_at, expires_at) values ('evidence-retention', 'other', 1, '2026-01-01T00:00:00.000000Z', '2027-01-01T00:00:00.000000Z')`.execute(
      rowsOf(evidenceStore.na.core.database),
    )
    refused(await apply(), 409, 'retention_in_progress')
  })

  it('200: a run that loses its lease after its checkpoint was stored reports what it stored', async () => {
    const one = await step(1)
    evidenceStore.clock.advance(3 * DAY)
    await step(2, one)
    const { database } = evidenceStore.na.core
    const transact = database.write.bind(database)
    vi.spyOn(database, 'write').mockImplementation(async (work) => {
      const done = await transact(work)
      // Another instance takes over when the boundary is stored.
      await sql`update job_leases set token = token + 1 where exists (select 1 from evidence_checkpoints)`.execute(
        rowsOf(database),
      )
      return done
    })
    const { removed_through_sequence } = checkpointOf(accepted(await apply()))
    expect(removed_through_sequence).toBe(3)
    expect((await readBoundary(database.read))?.removed_through_sequence).toBe(3)
    expect((await storedRows()).slice(0, 3)).toEqual([1, 2, 3])
    expect((await sequences())[0]).toBe(4)
  })

  it('409: a prefix that does not verify is not removed', async () => {
    await evidenceStore.decide({ parameters: { note: 'marker-aaaa' } })
    evidenceStore.clock.advance(3 * DAY)
    await evidenceStore.decide()
    await forgeRows(evidenceStore.na, "update evidence_entries set line = replace(line, 'marker-aaaa', 'marker-bbbb')")
    expect(refused(await apply(), 409, 'conflict')['details']).toEqual({ reason: 'store_verification_failed' })
    expect(await storedRows()).toEqual([1, 2, 3, 4])
  })
})
