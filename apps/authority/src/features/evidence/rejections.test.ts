import { createHash, randomUUID } from 'node:crypto'
import { NO_SUBJECT, canonicalJson, sha256Hex } from '@chancery/protocol'
import type { EvidenceRejection, EvidenceStoreEntry, JsonObject } from '@chancery/protocol'
import { ManualClock, accepted, refused } from '@chancery/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { failuresOf, forgeRows, openTestStore, parseLines } from './evidence.suite.ts'
import {
  RejectionBook,
  SINGLES_PER_ADDRESS,
  SINGLES_PER_DAY,
  SINGLES_PER_MINUTE,
  SUMMARIES_PER_DAY,
} from './rejections.ts'
import { rowsOf } from '../../testing/rows.suite.ts'

type TestStore = Awaited<ReturnType<typeof openTestStore>>
interface Line {
  readonly entry: EvidenceStoreEntry
  readonly payload: EvidenceRejection
}

let evidenceStore: TestStore
beforeEach(async () => {
  evidenceStore = await openTestStore()
})
afterEach(() => evidenceStore.stop())

const rejected = async (of = evidenceStore): Promise<readonly Line[]> =>
  (parseLines(await of.lines()) as unknown as Line[]).filter(({ entry }) => entry.entry_kind === 'rejection')
const junk = (): JsonObject => ({ evidence_id: randomUUID(), decision_id: randomUUID(), note: 'x' })
const submit = (evidence: JsonObject, from?: string, of = evidenceStore) =>
  of.na.request('POST', '/evidence/execution', {
    body: { evidence },
    ...(from === undefined ? {} : { from }),
  })

describe('a refused submission in the store', () => {
  it('is an entry without names when its signer is unknown', async () => {
    const evidence = junk()
    refused(await submit(evidence), 422, 'evidence_malformed')
    const [line] = await rejected()
    expect(line?.payload).toEqual({
      rejection_id: expect.any(String),
      rejected_at: expect.any(String),
      code: 'evidence_malformed',
      count: 1,
      submitted_digest: sha256Hex(canonicalJson(evidence)),
      evidence_id: evidence['evidence_id'],
      decision_id: evidence['decision_id'],
      resource_id: null,
      executor_sovereign_id: null,
      verified_executor: false,
    })
    expect(line?.entry).toMatchObject({
      ...NO_SUBJECT,
      entry_kind: 'rejection',
      outcome: 'rejected',
    })
    expect(await evidenceStore.report()).toMatchObject({ verified: true, rejections: 1 })
  })

  it('names a verified executor, its decision and resource, and uses no position in their chains', async () => {
    const { decision, context } = await evidenceStore.decide()
    const resource = { resource_id: 'kv/a', resource_action: 'create', resource_sequence: 1 } as const
    const good = await evidenceStore.evidence(decision, resource)
    accepted(await evidenceStore.submit(good), 201)
    refused(
      await evidenceStore.submit(await evidenceStore.evidence(decision, { ...resource, executed_capability: 'x' })),
      422,
      'evidence_capability_mismatch',
    )
    const [line] = await rejected()
    expect(line?.payload.verified_executor).toBe(true)
    expect(line?.entry).toMatchObject({
      decision_id: decision.decision_id,
      context_id: decision.context_id,
      capability: context.requested_capability,
      executor_sovereign_id: 'rotator',
      resource_id: 'kv/a',
      evidence_id: null,
      exec_sequence_no: null,
      resource_sequence: null,
    })
    const head = accepted(await evidenceStore.get('/admin/evidence/resource-heads/kv%2Fa'))
    expect(head['resource_sequence']).toBe(1)
    const history = accepted(await evidenceStore.get('/admin/evidence/resources/kv%2Fa'))
    expect(JSON.stringify(history)).not.toContain('rejection"')
    expect(failuresOf(await evidenceStore.report())).toEqual([])
  })

  it('is distinguished from an edited entry', async () => {
    refused(await submit(junk()), 422, 'evidence_malformed')
    await forgeRows(evidenceStore.na, `update evidence_entries set line = replace(line, '"count":1', '"count":2')`)
    const reasons = JSON.stringify(failuresOf(await evidenceStore.report()))
    expect(reasons).toContain('payload_digest_mismatch')
    expect(reasons).toContain('payload_invalid')
  })
})

describe('a flood of submissions by unknown signers', () => {
  it('gets some entries a minute, and one with the count of the rest per code', async () => {
    const clock = evidenceStore.clock
    const sent = Array.from({ length: 150 }, junk)
    for (const evidence of sent) refused(await submit(evidence), 422, 'evidence_malformed')
    expect((await rejected()).length).toBe(SINGLES_PER_ADDRESS)
    await evidenceStore.na.features.evidence.appendSummaries()
    expect((await rejected()).length).toBe(SINGLES_PER_ADDRESS)
    clock.advance(60)
    await evidenceStore.na.features.evidence.appendSummaries()
    const lines = await rejected()
    expect(lines.length).toBe(SINGLES_PER_ADDRESS + 1)
    const summary = lines.at(-1)
    const hash = createHash('sha256')
    for (const evidence of sent.slice(SINGLES_PER_ADDRESS)) hash.update(sha256Hex(canonicalJson(evidence)))
    expect(summary?.payload).toMatchObject({
      code: 'evidence_malformed',
      count: 150 - SINGLES_PER_ADDRESS,
      submitted_digest: hash.digest('hex'),
      evidence_id: null,
      verified_executor: false,
    })
    expect(lines.reduce((sum, line) => sum + line.payload.count, 0)).toBe(150)
    const events = await evidenceStore.na.auditEvents('evidence_rejected')
    expect(events.length).toBe(SINGLES_PER_ADDRESS + 1)
    expect(await evidenceStore.report()).toMatchObject({ verified: true, rejections: lines.length })
    // The status counts what the verification counts.
    expect(accepted(await evidenceStore.get('/admin/evidence/status'))['rejections']).toBe(lines.length)
  })

  it('gets no more over all addresses and instances', async () => {
    const other = await openTestStore({
      database: evidenceStore.na.database,
      clock: new ManualClock(evidenceStore.clock.now()),
    })
    try {
      for (let at = 0; at < 2 * SINGLES_PER_MINUTE; at += 1)
        refused(
          await submit(junk(), `127.0.9.${at % 8}`, at % 2 === 0 ? evidenceStore : other),
          422,
          'evidence_malformed',
        )
      expect((await rejected()).length).toBe(SINGLES_PER_MINUTE)
    } finally {
      await other.stop()
    }
    // A stop appends the counts of the current minute.
    const counted = (await rejected()).reduce((sum, line) => sum + line.payload.count, 0)
    await evidenceStore.na.features.evidence.appendSummaries(evidenceStore.clock.now() + 60_000_000n)
    const all = (await rejected()).reduce((sum, line) => sum + line.payload.count, 0)
    expect(counted).toBeGreaterThan(SINGLES_PER_MINUTE)
    expect(all).toBe(2 * SINGLES_PER_MINUTE)
  })

  it('gets no more over a day', async () => {
    const db = rowsOf(evidenceStore.na.core.database)
    const day = Number(evidenceStore.clock.now() / 86_400_000_000n)
    const counts = { number: day, singles: SINGLES_PER_DAY }
    await db.updateTable('evidence_rejection_counts').set(counts).where('span', '=', 'day').execute()
    refused(await submit(junk()), 422, 'evidence_malformed')
    expect(await rejected()).toEqual([])
  })

  it('does not reduce the entries of verified executors', async () => {
    for (let at = 0; at < SINGLES_PER_ADDRESS + 1; at += 1) refused(await submit(junk()), 422, 'evidence_malformed')
    const { decision } = await evidenceStore.decide()
    refused(
      await evidenceStore.submit(await evidenceStore.evidence(decision, { sequence_no: 5 })),
      422,
      'evidence_chain_gap',
    )
    expect((await rejected()).length).toBe(SINGLES_PER_ADDRESS + 1)
  })
})

describe('a submission that is stored already', () => {
  const counts = async (): Promise<readonly number[]> => {
    const rows = await evidenceStore.na.core.database.read
      .selectFrom('audit_events')
      .select('event_json')
      .where('event_type', '=', 'evidence_duplicate')
      .orderBy('created_at')
      .execute()
    return rows.map(({ event_json }) => Number((JSON.parse(event_json) as { details: JsonObject }).details['count']))
  }

  it('sent repeatedly causes a limited number of events and one count, per address and for all', async () => {
    const { decision } = await evidenceStore.decide()
    const record = await evidenceStore.evidence(decision)
    accepted(await evidenceStore.submit(record), 201)
    const again = async (from: string) => expect(accepted(await submit(record, from))['status']).toBe('duplicate')
    for (let at = 0; at < SINGLES_PER_ADDRESS + 5; at += 1) await again('127.0.8.1')
    expect(await counts()).toEqual(Array.from({ length: SINGLES_PER_ADDRESS }, () => 1))
    for (let at = 0; at < SINGLES_PER_MINUTE; at += 1) await again(`127.0.8.${2 + (at % 4)}`)
    expect(await counts()).toHaveLength(SINGLES_PER_MINUTE)
    evidenceStore.clock.advance(60)
    await evidenceStore.na.features.evidence.appendSummaries()
    expect((await counts()).at(-1)).toBe(SINGLES_PER_ADDRESS + 5)
    expect(await rejected()).toEqual([])
  })

  it('gets no more events over a day', async () => {
    const { decision } = await evidenceStore.decide()
    const record = await evidenceStore.evidence(decision)
    accepted(await evidenceStore.submit(record), 201)
    const number = Number(evidenceStore.clock.now() / 86_400_000_000n)
    await rowsOf(evidenceStore.na.core.database)
      .updateTable('evidence_rejection_counts')
      .set({ number, singles: SINGLES_PER_DAY })
      .where('span', '=', 'duplicate-day')
      .execute()
    accepted(await submit(record))
    expect(await counts()).toEqual([])
  })
})

describe('counts of refused submissions', () => {
  it('are per minute until a daily number is reached, then per hour', async () => {
    const book = new RejectionBook()
    const [minute, hour] = [60_000_000n, 3_600_000_000n]
    const start = (evidenceStore.clock.now() / (24n * hour)) * 24n * hour
    let [appended, counted] = [0, 0]
    for (let at = 0n; at < 1440n; at += 1n) {
      const now = start + at * minute
      book.add(now, 'evidence_malformed', 'ab')
      await book.appendEnded(now + minute, async ({ count }) => {
        appended += 1
        counted += count
      })
    }
    expect(counted).toBe(1440)
    expect(appended).toBeLessThanOrEqual(SUMMARIES_PER_DAY + 24)
    // The next day begins with minutes again.
    book.add(start + 24n * hour, 'evidence_malformed', 'ab')
    await book.appendEnded(start + 24n * hour + minute, async () => void (appended += 1000))
    expect(appended).toBeGreaterThan(1000)
  })
})

describe('NA_EVIDENCE_REJECTIONS=table', () => {
  it('stores them outside the chain with the same limits, and retention removes old ones', async () => {
    const own = await openTestStore({ settings: { NA_EVIDENCE_REJECTIONS: 'table' } })
    try {
      const rows = async (): Promise<number> =>
        (await own.na.core.database.read.selectFrom('evidence_rejections').select('code').execute()).length
      const state = async () => accepted(await own.get('/admin/evidence/status'))
      for (let at = 0; at < 40; at += 1) refused(await submit(junk(), undefined, own), 422, 'evidence_malformed')
      expect(await rows()).toBe(SINGLES_PER_ADDRESS)
      own.clock.advance(60)
      await own.na.features.evidence.appendSummaries()
      expect(await state()).toMatchObject({ entries: 0, rejections: 40 })
      expect(await own.report()).toMatchObject({ verified: true, checked_entries: 0, rejections: 40 })
      expect(await rows()).toBe(SINGLES_PER_ADDRESS)
      own.clock.advance(40 * 86_400)
      accepted(await own.post('/admin/evidence/retention/apply', { older_than_days: 30 }))
      expect(await rows()).toBe(0)
      expect(await state()).toMatchObject({ rejections: 40 })
    } finally {
      await own.stop()
    }
  })
})

describe('retention', () => {
  it('removes rejections with their time, and no rejection stops it', async () => {
    const { decision } = await evidenceStore.decide()
    refused(
      await evidenceStore.submit(
        await evidenceStore.evidence(decision, { resource_id: 'r', resource_action: 'create', resource_sequence: 5 }),
      ),
      422,
      'resource_chain_gap',
    )
    evidenceStore.clock.advance(40 * 86_400)
    const answer = accepted(await evidenceStore.post('/admin/evidence/retention/apply', { older_than_days: 30 }))
    expect(answer['removed_count']).toBe(3)
  })
})
