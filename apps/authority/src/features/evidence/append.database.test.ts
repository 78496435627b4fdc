import { randomUUID } from 'node:crypto'
import { UnknownOutcomeError } from '../../database/database.ts'
import { accepted, refused } from '@chancery/testkit'
import { Refusal } from '@chancery/contract'
import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { failuresOf, makeDecision, openTestStore, parseLines } from './evidence.suite.ts'

let desk: Awaited<ReturnType<typeof openTestStore>>
beforeEach(async () => {
  desk = await openTestStore()
})
afterEach(async () => {
  vi.restoreAllMocks()
  await desk.stop()
})

const kept = async (): Promise<readonly string[]> =>
  parseLines(await desk.lines()).map((event) => {
    const entry = event['entry'] as { entry_kind: string; decision_id: string }
    return `${entry.entry_kind} ${entry.decision_id}`
  })

describe('recordDecision', () => {
  it('stores decision and justification in sequence, with context and events, before it responds', async () => {
    const { decision, context, proof } = await desk.decide({ parameters: { app: 'billing' } })
    const [first, second] = parseLines(await desk.lines())
    expect(first?.['payload']).toEqual({ decision, context })
    expect(second?.['payload']).toEqual(proof)
    expect(await kept()).toEqual([`decision ${decision.decision_id}`, `justification ${decision.decision_id}`])
    expect(await desk.na.auditEvents('decision_stored')).toHaveLength(1)
  })

  it('writes queued records in few transactions, in order of arrival', async () => {
    const transact = vi.spyOn(desk.na.core.database, 'transactOften')
    const made = await Promise.all(Array.from({ length: 120 }, () => makeDecision(desk.na, desk.clock, {})))
    transact.mockClear()
    await Promise.all(
      made.map(({ decision, context }) =>
        desk.na.features.evidence.recordDecision({
          decision,
          context,
          events: [],
          attempt: undefined,
          answer: { status: 201, text: decision.decision_id },
        }),
      ),
    )
    // 120 at once with at most 100 in a batch: two batches.
    expect(transact).toHaveBeenCalledTimes(2)
    expect(await kept()).toEqual(made.map(({ decision }) => `decision ${decision.decision_id}`))
    expect(failuresOf(await desk.report())).toEqual([])
  })

  it('refuses an invalid record under the lock, and appends the others of its batch', async () => {
    const { decision } = await desk.decide()
    const good = await desk.evidence(decision)
    const bad = await desk.evidence(decision, { decision_id: randomUUID() })
    const rival = await desk.evidence(decision)
    const answers = await Promise.all([desk.submit(bad), desk.submit(good), desk.submit(rival), desk.decide()])
    refused(answers[0], 422, 'evidence_decision_not_found')
    expect([answers[1].status, answers[2].status].sort()).toEqual([201, 409])
    // Two decisions, one execution, and the rejections of the other two.
    expect((await kept()).length).toBe(7)
    expect(failuresOf(await desk.report())).toEqual([])
  })

  it('lets a record that the database refuses fail alone', async () => {
    const made = await Promise.all(['a', 'b', 'c'].map(() => makeDecision(desk.na, desk.clock, {})))
    const [first, second, third] = made
    if (first === undefined || second === undefined || third === undefined) throw new Error('three decisions')
    // The id of a stored decision: only the unique index can refuse it.
    const twice = { ...second, decision: { ...second.decision, decision_id: first.decision.decision_id } }
    const results = await Promise.allSettled(
      [first, twice, third].map(({ decision, context }) =>
        desk.na.features.evidence.recordDecision({
          decision,
          context,
          events: [],
          attempt: undefined,
          answer: { status: 201, text: '{}' },
        }),
      ),
    )
    expect(results.map((result) => result.status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect((await kept()).length).toBe(2)
    expect((await desk.na.auditEvents('decision_stored')).length).toBe(2)
  })

  it('returns 503 when the store cannot append it, and leaves no gap', async () => {
    const { decision } = await desk.decide()
    const { read: db, engine: backend } = desk.na.core.database
    const trigger =
      backend === 'postgres'
        ? [
            "create function refuse_insert() returns trigger language plpgsql as $$ begin raise exception 'disk full'; end $$",
            'create trigger refuse_insert before insert on evidence_entries for each row execute function refuse_insert()',
          ]
        : ["create trigger refuse_insert before insert on evidence_entries begin select raise(abort, 'disk full'); end"]
    for (const text of trigger) await sql.raw(text).execute(db)
    await expect(desk.decide()).rejects.toMatchObject({ code: 'evidence_store_unavailable' })
    refused(await desk.submit(await desk.evidence(decision)), 503, 'evidence_store_unavailable')
    await sql.raw(`drop trigger refuse_insert${backend === 'postgres' ? ' on evidence_entries' : ''}`).execute(db)
    await desk.decide()
    expect((await kept()).length).toBe(4)
    expect(failuresOf(await desk.report())).toEqual([])
  })

  it('reports an unknown outcome of the commit', async () => {
    vi.spyOn(desk.na.core.database, 'transactOften').mockRejectedValueOnce(new UnknownOutcomeError('lost'))
    const failed = await desk.decide().catch((error: unknown) => error)
    expect(failed).toBeInstanceOf(Refusal)
    expect(failed).toMatchObject({ code: 'evidence_store_unavailable', details: { outcome: 'unknown' } })
  })

  it('never dates an entry before its predecessor', async () => {
    await desk.decide()
    desk.clock.set('2026-01-01T00:00:00Z')
    await desk.decide()
    const times = parseLines(await desk.lines()).map((event) => (event['entry'] as { recorded_at: string }).recorded_at)
    expect(new Set(times)).toEqual(new Set(['2026-01-02T03:04:05.678000Z']))
  })

  it('repeats the response of the same attempt without another entry', async () => {
    const { decision, context } = await makeDecision(desk.na, desk.clock, {})
    const attempt = { scope: 's', key: 'k', bodyDigest: 'd', expires_at: '2027-01-01T00:00:00.000000Z' }
    const made = { decision, context, events: [], attempt, answer: { status: 201, text: '{"n":1}' } }
    expect(await desk.na.features.evidence.recordDecision(made)).toEqual({ status: 201, text: '{"n":1}' })
    const other = await makeDecision(desk.na, desk.clock, {})
    const again = { ...made, ...other, answer: { status: 201, text: '{"n":2}' } }
    expect(await desk.na.features.evidence.recordDecision(again)).toEqual({ status: 201, text: '{"n":1}' })
    await expect(
      desk.na.features.evidence.recordDecision({ ...again, attempt: { ...attempt, bodyDigest: 'e' } }),
    ).rejects.toMatchObject({ code: 'conflict' })
    expect((await kept()).length).toBe(1)
  })
})

describe('the database', () => {
  it('refuses to change an entry, and to delete one that no checkpoint covers', async () => {
    await desk.decide()
    const db = desk.na.core.database.read
    await expect(sql`update evidence_entries set outcome = 'denied'`.execute(db)).rejects.toThrow(/never changed/)
    await expect(sql`delete from evidence_entries`.execute(db)).rejects.toThrow(/by retention only/)
    expect((await kept()).length).toBe(2)
    expect(accepted(await desk.get('/admin/evidence/status'))['entries']).toBe(2)
  })
})
