import { type TestDatabase, accepted, createMigratedDatabase, currentBackend } from '@chancery/testkit'
import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { usePartitionsOf } from '../../database/partitions/evidence-partitions.suite.ts'
import { EVIDENCE } from '../../database/partitions/evidence-partitions.ts'
import { readLayout } from '../../database/partitions/layout.ts'
import { locationOf } from '../../database/database.suite.ts'
import { openDatabase } from '../../database/open.ts'
import { rowsOf } from '../../testing/rows.suite.ts'
import { failuresOf, openTestStore } from './evidence.suite.ts'
import { keepEvidencePartitions } from './remove-old.job.ts'
import { sweepRemoved } from './removal.ts'

const SIZE = 10
const DAY = 86_400
const { signal } = new AbortController()

let place: TestDatabase
let store: Awaited<ReturnType<typeof openTestStore>>
beforeEach(async () => {
  place = await createMigratedDatabase()
  if (isPostgres) {
    const database = openDatabase(locationOf(place))
    await usePartitionsOf(database, SIZE)
    await database.close()
  }
  store = await openTestStore({ database: place })
  accepted(await store.register(store.executor), 201)
})
afterEach(async () => {
  await store.stop()
  await place.drop()
})

const isPostgres = currentBackend() === 'postgres'
/** Up to that of the last entry: the job of the running authority makes the next one ahead, at any time. */
const partitions = async (): Promise<readonly string[]> => {
  const last = (await stored()).at(-1) ?? 0
  return (await allPartitions()).filter((from) => Number(from) <= last)
}
const allPartitions = async (): Promise<readonly string[]> =>
  ((await readLayout(store.na.core.database.read, EVIDENCE))?.partitions ?? []).map(({ name }) => name.slice(17))
const stored = async (): Promise<readonly number[]> =>
  (
    await store.na.core.database.read
      .selectFrom('evidence_entries')
      .select('store_sequence')
      .orderBy('store_sequence')
      .execute()
  ).map((row) => row.store_sequence)

/** A decision with its justification: two entries. */
async function decide(times: number): Promise<void> {
  for (let count = 0; count < times; count += 1) await store.decide()
}

/** All but the newest decisions are old enough. */
async function retain(newest: number): Promise<void> {
  store.clock.advance(3 * DAY)
  await decide(newest)
  accepted(await store.post('/admin/evidence/retention/apply', { older_than_days: 1 }))
}

describe('a store of several partitions', () => {
  it('takes appends, executions, searches and exports across them, and verifies', async () => {
    await decide(12)
    const { decision } = await store.decide()
    const record = await store.evidence(decision)
    accepted(await store.submit(record), 201)
    await decide(6)
    expect(await stored()).toHaveLength(39)
    expect(await store.lines()).toHaveLength(39)
    if (isPostgres) expect(await partitions()).toEqual(['0', '10', '20', '30'])
    const found = accepted(await store.get('/admin/evidence?vendor_id=vendor-1&limit=100'))
    expect(found['count']).toBe(39)
    expect(failuresOf(await store.report())).toEqual([])
    accepted(await store.submit(record), 200)
  })

  it('loses whole partitions and the rows before the boundary to retention, and verifies', async () => {
    await decide(13)
    await retain(2)
    // 26 old entries, 4 new ones, the checkpoint.
    expect(await stored()).toEqual([27, 28, 29, 30, 31])
    if (isPostgres) expect(await partitions()).toEqual(['20', '30'])
    expect(failuresOf(await store.report())).toEqual([])
    const { rows } = await sql<{ facts: number }>`select count(*) as facts from decision_facts`.execute(
      rowsOf(store.na.core.database),
    )
    expect(Number(rows[0]?.facts)).toBe(2)
    await decide(1)
    expect(await stored()).toHaveLength(7)
  })
})

/** The state after a retention run that was killed before it removed anything. */
async function hide(through: number): Promise<void> {
  const rows = rowsOf(database())
  await rows.updateTable('evidence_head').set({ removed_through: through }).execute()
  await rows
    .insertInto('evidence_checkpoints')
    .values({ removed_through_sequence: through, checkpoint_id: 'c', checkpoint_json: '{}', created_at: '2026' })
    .execute()
}

describe('a removed partition', () => {
  it.runIf(isPostgres)('stays while a transaction reads it, hidden, and is dropped by a later sweep', async () => {
    await decide(13)
    await hide(22)
    await database().write(async (tx) => {
      await tx.query.selectFrom('evidence_entries').select('line').limit(1).execute()
      await sweepRemoved(store.na.parts, signal)
      expect(await partitions()).toEqual(['0', '10', '20'])
      expect(await store.lines()).toHaveLength(4)
      expect(await stored()).toHaveLength(26)
    })
    await sweepRemoved(store.na.parts, signal)
    expect(await partitions()).toEqual(['20'])
    expect(await stored()).toEqual([23, 24, 25, 26])
  })

  it.runIf(isPostgres)('stays when no signed checkpoint has its entries', async () => {
    await decide(13)
    await rowsOf(database()).updateTable('evidence_head').set({ removed_through: 19 }).execute()
    await sweepRemoved(store.na.parts, signal).catch(() => undefined)
    expect(await partitions()).toEqual(['0', '10', '20'])
    expect(await stored()).toHaveLength(26)
  })

  it.runIf(isPostgres)('that is empty is dropped as well', async () => {
    await decide(13)
    await hide(19)
    await rowsOf(database()).deleteFrom('evidence_entries').where('store_sequence', '<', 20).execute()
    await sweepRemoved(store.na.parts, signal)
    expect(await partitions()).toEqual(['20'])
  })
})

const database = () => store.na.core.database

describe('the job evidence-partitions', () => {
  it('makes the next partition when half of the last one is used, and lets the planner count', async () => {
    await decide(2)
    await keepEvidencePartitions(store.na.parts, signal)
    if (!isPostgres) return
    expect(await allPartitions()).toEqual(['0'])
    await decide(1)
    await keepEvidencePartitions(store.na.parts, signal)
    expect(await allPartitions()).toEqual(['0', '10'])
    const { rows } = await sql<{ counted: boolean }>`select exists (select 1 from pg_stats
      where tablename = 'evidence_entries' and inherited) as counted`.execute(database().read)
    expect(rows[0]?.counted).toBe(true)
  })
})
