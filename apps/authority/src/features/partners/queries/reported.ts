import type { Selectable } from 'kysely'
import type { Reader, Transaction } from '../../../database/database.ts'
import type { Tables } from '../../../database/tables.ts'
import { ANY_ID } from '../../../requests/list-position.ts'

type ReportedRow = Selectable<Tables['reported_treaties']>

export function listReported(
  db: Reader,
  sovereign_id: string,
): Promise<readonly Pick<ReportedRow, 'treaty_id' | 'digest' | 'hidden'>[]> {
  return db
    .selectFrom('reported_treaties')
    .select(['treaty_id', 'digest', 'hidden'])
    .where('sovereign_id', '=', sovereign_id)
    .execute()
}

/** The stored text of each treaty, by id. */
export function reportedList(db: Reader, sovereign_id: string) {
  const rows = db
    .selectFrom('reported_treaties')
    .select(['treaty_id', 'treaty_json'])
    .where('sovereign_id', '=', sovereign_id)
    .where('hidden', '=', 0)
  return { rows, order: [{ column: 'treaty_id', form: ANY_ID }] as const }
}

const ROWS = 500

export async function insertReported(tx: Transaction, rows: readonly ReportedRow[]): Promise<void> {
  for (let at = 0; at < rows.length; at += ROWS)
    await tx.query
      .insertInto('reported_treaties')
      .values(rows.slice(at, at + ROWS))
      .execute()
}

export async function deleteReported(
  tx: Transaction,
  sovereign_id: string,
  treaty_ids: readonly string[],
): Promise<void> {
  for (let at = 0; at < treaty_ids.length; at += ROWS)
    await tx.query
      .deleteFrom('reported_treaties')
      .where('sovereign_id', '=', sovereign_id)
      .where('treaty_id', 'in', treaty_ids.slice(at, at + ROWS))
      .execute()
}

export async function hideReported(
  tx: Transaction,
  sovereign_id: string,
  treaty_ids: readonly string[],
): Promise<void> {
  for (let at = 0; at < treaty_ids.length; at += ROWS)
    await tx.query
      .updateTable('reported_treaties')
      .set({ hidden: 1, treaty_json: '' })
      .where('sovereign_id', '=', sovereign_id)
      .where('treaty_id', 'in', treaty_ids.slice(at, at + ROWS))
      .execute()
}

/** Those with one of the digests, or all. */
export async function deleteHidden(
  tx: Transaction,
  sovereign_id: string,
  digests: readonly string[] | 'all',
): Promise<void> {
  let query = tx.query.deleteFrom('reported_treaties').where('sovereign_id', '=', sovereign_id).where('hidden', '=', 1)
  if (digests !== 'all') query = query.where('digest', 'in', digests)
  await query.execute()
}

export async function findReportedText(db: Reader, sovereign_id: string, treaty_id: string): Promise<string | null> {
  const row = await db
    .selectFrom('reported_treaties')
    .select('treaty_json')
    .where('sovereign_id', '=', sovereign_id)
    .where('treaty_id', '=', treaty_id)
    .executeTakeFirst()
  return row?.treaty_json ?? null
}
