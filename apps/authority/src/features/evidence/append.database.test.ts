import { randomUUID } from 'node:crypto'
import { UnknownOutcomeError } from '../../database/errors.ts'
import { accepted, refused, currentBackend } from '@chancery/testkit'
import { Refusal } from '@chancery/contract'
import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { failuresOf, makeDecision, openTestStore, parseLines } from './evidence.suite.ts'
import { rowsOf } from '../../testing/rows.suite.ts'

let evidence: Awaited<ReturnType<typeof openTestStore>>
beforeEach(async () => {
  evidence = await openTestStore()
})
afterEach(async () => {
  vi.restoreAllMocks()
  await evidence.stop()
})

const stored = async (): Promise<readonly string[]> =>
  parseLines(await evidence.lines()).map((event) => {
    const entry = event['entry'] as { entry_kind: string; decision_id: string }
    return `${entry.entry_kind} ${entry.decision_id}`
  })

describe('recordDecision', () => {
  it('stores decision and justification in sequence, with context and events, before it responds', async () => {
    const { decision, context, proof } = await evidence.decide({ parameters: { app: 'billing' } })
    const [first, second] = parseLines(await evidence.lines())
    expect(first?.['payload']).toEqual({ decision, context })
    expect(second?.['payload']).toEqual(proof)
    expect(await stored()).toEqual([`decision ${decision.decision_id}`, `justification ${decision.decision_id}`])
    expect(await evidence.na.auditEvents('decision_stored')).toHaveLength(1)
  })

  it('writes queued records in few transactions, in order of arrival', async () => {
    const transact = vi.spyOn(evidence.na.core.database, 'write')
    const made = await Promise.all(Array.from({ length: 120 }, () => makeDecision(evidence.na, evidence.clock, {})))
    transact.mockClear()
    await Promise.all(
      made.map(({ decision, context, basisVersion }) =>
        evidence.na.features.evidence.recordDecision({
          decision,
          context,
          events: [],
          basisVersion,
          attempt: undefined,
          owners: [],
          answer: { status: 201, text: decision.decision_id },
        }),
      ),
    )
    // 120 at once with at most 100 in a batch: two batches.
    expect(transact.mock.calls.filter(([, options]) => options?.cachedPlans === true)).toHaveLength(2)
    expect(await stored()).toEqual(made.map(({ decision }) => `decision ${decision.decision_id}`))
    expect(failuresOf(await evidence.report())).toEqual([])
  })

  it('refuses an invalid record under the lock, and appends the others of its batch', async () => {
    const { decision } = await evidence.decide()
    const good = await evidence.evidence(decision)
    const bad = await evidence.evidence(decision, { decision_id: randomUUID() })
    const rival = await evidence.evidence(decision)
    const answers = await Promise.all([
      evidence.submit(bad),
      evidence.submit(good),
      evidence.submit(rival),
      evidence.decide(),
    ])
    refused(answers[0], 422, 'evidence_decision_not_found')
    expect([answers[1].status, answers[2].status].sort()).toEqual([201, 409])
    // Two decisions, one execution, and the rejections of the other two.
    expect((await stored()).length).toBe(7)
    expect(failuresOf(await evidence.report())).toEqual([])
  })

  it('lets a record that the database refuses fail alone', async () => {
    const made = await Promise.all(['a', 'b', 'c'].map(() => makeDecision(evidence.na, evidence.clock, {})))
    const [first, second, third] = made
    if (first === undefined || second === undefined || third === undefined) throw new Error('three decisions')
    // The id of a stored decision: only the unique index can refuse it.
    const twice = { ...second, decision: { ...second.decision, decision_id: first.decision.decision_id } }
    const results = await Promise.allSettled(
      [first, twice, third].map(({ decision, context, basisVersion }) =>
        evidence.na.features.evidence.recordDecision({
          decision,
          context,
          events: [],
          basisVersion,
          attempt: undefined,
          owners: [],
          answer: { status: 201, text: '{}' },
        }),
      ),
    )
    expect(results.map((result) => result.status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect((await stored()).length).toBe(2)
    expect((await evidence.na.auditEvents('decision_stored')).length).toBe(2)
  })

  it('returns 503 when the store cannot append it, and leaves no gap', async () => {
    const { decision } = await evidence.decide()
    const { engine } = evidence.na.core.database
    const rows = rowsOf(evidence.na.core.database)
    const trigger =
      engine === 'postgres'
        ? [
            "create function refuse_insert() returns trigger language plpgsql as $$ begin raise exception 'disk full'; end $$",
            'create trigger refuse_insert before insert on evidence_entries for each row execute function refuse_insert()',
          ]
        : ["create trigger refuse_insert before insert on evidence_entries begin select raise(abort, 'disk full'); end"]
    for (const text of trigger) await sql.raw(text).execute(rows)
    await expect(evidence.decide()).rejects.toMatchObject({ code: 'evidence_store_unavailable' })
    refused(await evidence.submit(await evidence.evidence(decision)), 503, 'evidence_store_unavailable')
    await sql.raw(`drop trigger refuse_insert${engine === 'postgres' ? ' on evidence_entries' : ''}`).execute(rows)
    await evidence.decide()
    expect((await stored()).length).toBe(4)
    expect(failuresOf(await evidence.report())).toEqual([])
  })

  // A trigger of SQLite cannot change the row it is called for.
  it.runIf(currentBackend() === 'postgres')('refuses a batch that the database stores differently', async () => {
    const rows = rowsOf(evidence.na.core.database)
    const before = (await stored()).length
    const changes = [
      "new.line = new.line || ' '; return new",
      "new.entry_digest = repeat('0', 64); return new",
      "if new.entry_kind = 'justification' then return null; end if; return new",
    ]
    for (const change of changes) {
      await sql
        .raw(`create function change_row() returns trigger language plpgsql as $$ begin ${change}; end $$`)
        .execute(rows)
      await sql
        .raw('create trigger change_row before insert on evidence_entries for each row execute function change_row()')
        .execute(rows)
      await expect(evidence.decide()).rejects.toMatchObject({ code: 'evidence_store_unavailable' })
      await sql.raw('drop function change_row() cascade').execute(rows)
    }
    expect((await stored()).length).toBe(before)
  })

  it('reports an unknown outcome of the commit', async () => {
    vi.spyOn(evidence.na.core.database, 'write').mockRejectedValueOnce(new UnknownOutcomeError('lost'))
    const failed = await evidence.decide().catch((error: unknown) => error)
    expect(failed).toBeInstanceOf(Refusal)
    expect(failed).toMatchObject({ code: 'evidence_store_unavailable', details: { outcome: 'unknown' } })
  })

  it('never dates an entry before its predecessor', async () => {
    await evidence.decide()
    evidence.clock.set('2026-01-01T00:00:00Z')
    await evidence.decide()
    const times = parseLines(await evidence.lines()).map(
      (event) => (event['entry'] as { recorded_at: string }).recorded_at,
    )
    expect(new Set(times)).toEqual(new Set(['2026-01-02T03:04:05.678000Z']))
  })

  it('repeats the response of the same attempt without another entry', async () => {
    const { decision, context, basisVersion } = await makeDecision(evidence.na, evidence.clock, {})
    const attempt = { scope: 's', key: 'k', bodyDigest: 'd', expires_at: '2027-01-01T00:00:00.000000Z' }
    const made = {
      decision,
      context,
      basisVersion,
      events: [],
      attempt,
      owners: [],
      answer: { status: 201, text: '{"n":1}' },
    }
    expect(await evidence.na.features.evidence.recordDecision(made)).toEqual({ status: 201, text: '{"n":1}' })
    const other = await makeDecision(evidence.na, evidence.clock, {})
    const again = { ...made, ...other, answer: { status: 201, text: '{"n":2}' } }
    expect(await evidence.na.features.evidence.recordDecision(again)).toEqual({ status: 201, text: '{"n":1}' })
    await expect(
      evidence.na.features.evidence.recordDecision({ ...again, attempt: { ...attempt, bodyDigest: 'e' } }),
    ).rejects.toMatchObject({ code: 'conflict' })
    expect((await stored()).length).toBe(1)
  })
})

describe('the database', () => {
  it('refuses to change an entry, and to delete one that no checkpoint covers', async () => {
    await evidence.decide()
    const db = rowsOf(evidence.na.core.database)
    await expect(sql`update evidence_entries set outcome = 'denied'`.execute(db)).rejects.toThrow(/never changed/)
    await expect(sql`delete from evidence_entries`.execute(db)).rejects.toThrow(/by retention only/)
    expect((await stored()).length).toBe(2)
    expect(accepted(await evidence.get('/admin/evidence/status'))['entries']).toBe(2)
  })
})
