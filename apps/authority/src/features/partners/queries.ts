import type { Selectable } from 'kysely'
import type { Reader, Transaction } from '../../database/database.ts'
import type { Tables } from '../../database/tables.ts'

export type PartnerRow = Selectable<Tables['partners']>
export type AlarmRow = Selectable<Tables['partner_alarms']>
export type ReportedTreatyRow = Selectable<Tables['reported_treaties']>

export function findPartner(db: Reader, sovereign_id: string): Promise<PartnerRow | undefined> {
  return db.selectFrom('partners').selectAll().where('sovereign_id', '=', sovereign_id).executeTakeFirst()
}

export function listPartners(
  db: Reader,
  page: { readonly limit: number; readonly after: string | undefined },
): Promise<readonly PartnerRow[]> {
  let query = db.selectFrom('partners').selectAll()
  if (page.after !== undefined) query = query.where('sovereign_id', '>', page.after)
  return query.orderBy('sovereign_id').limit(page.limit).execute()
}

export async function countPartners(db: Reader): Promise<number> {
  const row = await db
    .selectFrom('partners')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirst()
  return Number(row?.count ?? 0)
}

export async function insertPartner(tx: Transaction, row: PartnerRow): Promise<void> {
  await tx.query.insertInto('partners').values(row).execute()
}

export async function updatePartner(
  tx: Transaction,
  sovereign_id: string,
  changes: Partial<PartnerRow>,
): Promise<void> {
  await tx.query.updateTable('partners').set(changes).where('sovereign_id', '=', sovereign_id).execute()
}

/** Everything but the sequences, and what was imported. */
export async function deletePartner(tx: Transaction, sovereign_id: string): Promise<void> {
  for (const table of ['partners', 'partner_texts', 'partner_alarms', 'reported_treaties'] as const)
    await tx.query.deleteFrom(table).where('sovereign_id', '=', sovereign_id).execute()
}
