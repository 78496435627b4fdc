import type { Prepare, Reader, Transaction } from '../../../database/database.ts'
import type { Tables } from '../../../database/tables.ts'
import { type Described, type HourRow, toFactsRows, toHourRows } from '../decision-facts.ts'

const INSERT_FACTS = 'insert into decision_facts (store_sequence, requester_sovereign_id, failed_gate)'
const INSERT_HOURS = 'insert into decision_hours (hour, split, name, outcome, decisions)'
// Every writer holds the lock of the chain, so these rows make none of them wait.
const ADD_HOURS = `on conflict (split, hour, name, outcome)
  do update set decisions = decision_hours.decisions + excluded.decisions`

/** Parts of a larger PostgreSQL statement, whose eight parameters begin at `first`. */
export function factsInsertFrom(first: number): string {
  const [a, b, c, ...hours] = Array.from({ length: 8 }, (_, at) => `$${first + at}`)
  const [hour, split, name, outcome, decisions] = hours
  return `described as (${INSERT_FACTS} select * from unnest(${a}::bigint[], ${b}::text[], ${c}::text[])),
  counted as (${INSERT_HOURS} select * from unnest(${hour}::text[], ${split}::text[], ${name}::text[], ${outcome}::text[],
    ${decisions}::bigint[]) ${ADD_HOURS})`
}

export function factsValues(entries: readonly Described[]): readonly unknown[] {
  const [facts, hours] = [toFactsRows(entries), toHourRows(entries)]
  return [
    ...(['store_sequence', 'requester_sovereign_id', 'failed_gate'] as const).map((name) =>
      facts.map((row) => row[name]),
    ),
    ...(['hour', 'split', 'name', 'outcome', 'decisions'] as const).map((name) => hours.map((row) => row[name])),
  ]
}

/** The SQLite form of `factsInsertFrom`. */
export function insertFacts(prepare: Prepare, entries: readonly Described[]): void {
  const facts = prepare(`${INSERT_FACTS} values (?, ?, ?)`)
  for (const row of toFactsRows(entries)) facts.run(row.store_sequence, row.requester_sovereign_id, row.failed_gate)
  const hours = prepare(`${INSERT_HOURS} values (?, ?, ?, ?, ?) ${ADD_HOURS}`)
  for (const row of toHourRows(entries)) hours.run(row.hour, row.split, row.name, row.outcome, row.decisions)
}

export async function readFactsHead(
  db: Reader,
): Promise<{ readonly described_through: number; readonly present_through: number }> {
  return db.selectFrom('decision_facts_head').selectAll().where('id', '=', 1).executeTakeFirstOrThrow()
}

/** Decisions of a range without facts, oldest first. Only their lines are read. */
export function listUndescribed(
  db: Reader,
  range: { readonly after: number; readonly through: number; readonly limit: number },
): Promise<readonly Pick<Tables['evidence_entries'], 'store_sequence' | 'line'>[]> {
  return db
    .selectFrom('evidence_entries as e')
    .leftJoin('decision_facts as f', 'f.store_sequence', 'e.store_sequence')
    .select(['e.store_sequence', 'e.line'])
    .where('e.entry_kind', '=', 'decision')
    .where('e.store_sequence', '>', range.after)
    .where('e.store_sequence', '<=', range.through)
    .where('f.store_sequence', 'is', null)
    .orderBy('e.store_sequence')
    .limit(range.limit)
    .execute()
}

/** Adds facts and counts of decisions that have none. The caller holds the lock of the chain. */
export async function describeDecisions(tx: Transaction, entries: readonly Described[]): Promise<void> {
  if (entries.length === 0) return
  const rows = toFactsRows(entries)
  const known = await tx.query
    .selectFrom('decision_facts')
    .select('store_sequence')
    .where(
      'store_sequence',
      'in',
      rows.map((row) => row.store_sequence),
    )
    .execute()
  const has = new Set(known.map((row) => row.store_sequence))
  const missing = entries.filter(({ entry }) => !has.has(entry.store_sequence))
  if (missing.length === 0) return
  await tx.query.insertInto('decision_facts').values(toFactsRows(missing)).execute()
  for (const row of toHourRows(missing)) await addHour(tx, row)
}

async function addHour(tx: Transaction, row: HourRow): Promise<void> {
  await tx.query
    .insertInto('decision_hours')
    .values(row)
    .onConflict((conflict) =>
      conflict
        .columns(['split', 'hour', 'name', 'outcome'])
        .doUpdateSet((eb) => ({ decisions: eb('decision_hours.decisions', '+', row.decisions) })),
    )
    .execute()
}

export async function moveFactsHead(tx: Transaction, described_through: number): Promise<void> {
  await tx.query
    .updateTable('decision_facts_head')
    .set({ described_through })
    .where('id', '=', 1)
    .where('described_through', '<', described_through)
    .execute()
}

export async function deleteFactsThrough(tx: Transaction, store_sequence: number): Promise<void> {
  await tx.query.deleteFrom('decision_facts').where('store_sequence', '<=', store_sequence).execute()
}

/** Deletes at most `limit` rows up to a sequence. Returns their number. */
export async function deleteSomeFacts({ query }: Transaction, through: number, limit: number): Promise<number> {
  const some = query
    .selectFrom('decision_facts')
    .select('store_sequence')
    .where('store_sequence', '<=', through)
    .orderBy('store_sequence')
    .limit(limit)
  const done = await query.deleteFrom('decision_facts').where('store_sequence', 'in', some).executeTakeFirst()
  return Number(done.numDeletedRows)
}

export async function deleteHoursBefore(tx: Transaction, hour: string): Promise<void> {
  for (const split of ['total', 'capability', 'policy'])
    await tx.query.deleteFrom('decision_hours').where('split', '=', split).where('hour', '<', hour).execute()
}
