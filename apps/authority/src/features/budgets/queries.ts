import { type Instant, readInstant } from '@chancery/protocol'
import { type Reader, type Transaction, storeTime } from '../../database/database.ts'
import type { Tables } from '../../database/tables.ts'

const CHECKED = 'budget-check'
const REPAIRED = 'budget-repair'

/** When the counters were last computed again, and whether one differed then. */
export async function storeCheckTime(tx: Transaction, at: Instant, isRepaired: boolean): Promise<void> {
  await storeTime(tx, CHECKED, at)
  if (isRepaired) await storeTime(tx, REPAIRED, at)
  else await tx.query.deleteFrom('moments').where('name', '=', REPAIRED).execute()
}

async function readMoment(db: Reader, name: string): Promise<Instant | undefined> {
  const row = await db.selectFrom('moments').select('at').where('name', '=', name).executeTakeFirst()
  return row === undefined ? undefined : readInstant(row.at)
}

export function readCheckTime(db: Reader): Promise<Instant | undefined> {
  return readMoment(db, CHECKED)
}

/** Whether the last check repaired something. */
export async function wasRepaired(db: Reader): Promise<boolean> {
  return (await readMoment(db, REPAIRED)) !== undefined
}

/** Counters whose open window was reported about, the newest of them. */
export function findReported(db: Reader, now: string, limit: number): Promise<Tables['budgets'][]> {
  return db
    .selectFrom('budgets')
    .selectAll()
    .where('budget_key', 'in', (sub) =>
      sub.selectFrom('budget_sums').select('budget_key').where('reported', '>', 0).where('kept_until', '>', now),
    )
    .orderBy('open_until')
    .limit(limit)
    .execute()
}

export function listOverruns(db: Reader, now: string, limit: number): Promise<Tables['budgets'][]> {
  return db
    .selectFrom('budgets')
    .selectAll()
    .where('overrun_until', '>', now)
    .orderBy('overrun_until')
    .limit(limit)
    .execute()
}

export interface BudgetFilter {
  readonly source: string | undefined
  readonly requester: string | undefined
}

/** Counters with an open window behind a place, ordered by source, then key. */
export function listBudgets(
  db: Reader,
  now: string,
  { source, requester }: BudgetFilter,
  after: { readonly source: string; readonly budget_key: string } | undefined,
  limit: number,
): Promise<Tables['budgets'][]> {
  let query = db.selectFrom('budgets').selectAll().where('open_until', '>', now)
  if (source !== undefined) query = query.where('source', '=', source)
  if (requester !== undefined) query = query.where('requester', '=', requester)
  if (after !== undefined)
    query = query.where((eb) =>
      eb.or([
        eb('source', '>', after.source),
        eb.and([eb('source', '=', after.source), eb('budget_key', '>', after.budget_key)]),
      ]),
    )
  return query.orderBy('source').orderBy('budget_key').limit(limit).execute()
}

export async function findBudget(db: Reader, key: string, now: string): Promise<Tables['budgets'] | undefined> {
  return db
    .selectFrom('budgets')
    .selectAll()
    .where('budget_key', '=', key)
    .where('open_until', '>', now)
    .executeTakeFirst()
}

/** Decisions that used a counter, the newest first. */
export function listUses(db: Reader, key: string, limit: number): Promise<Tables['budget_uses'][]> {
  return db
    .selectFrom('budget_uses')
    .selectAll()
    .where('budget_key', '=', key)
    .orderBy('store_sequence', 'desc')
    .limit(limit)
    .execute()
}

/** Counters with an open window, and those of them that were reported about at each level. */
export async function countBudgets(
  db: Reader,
  now: string,
): Promise<{ open: number; warned: number; exhausted: number }> {
  const all = await db
    .selectFrom('budgets')
    .select(({ fn }) => fn.countAll<number | string>().as('count'))
    .where('open_until', '>', now)
    .executeTakeFirstOrThrow()
  const reported = await db
    .selectFrom('budget_sums')
    .select(({ fn }) => ['reported', fn.count<number | string>('budget_key').distinct().as('count')])
    .where('reported', '>', 0)
    .where('kept_until', '>', now)
    .groupBy('reported')
    .execute()
  const countAt = (level: number): number => Number(reported.find((row) => row.reported === level)?.count ?? 0)
  const [warned, exhausted] = [countAt(1), countAt(2)]
  return { open: Math.max(0, Number(all.count) - warned - exhausted), warned, exhausted }
}
