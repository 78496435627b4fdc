import { sql } from 'kysely'
import type { Database, Reader, Transaction } from '../../database/database.ts'
import { deleteInParts } from '../../database/large-tables.ts'

export interface OfferMaker {
  readonly offer_id: string
  readonly operator_public_key: string
  readonly expires_at: string
}

export async function insertOfferMaker(tx: Transaction, row: OfferMaker): Promise<void> {
  await tx.query.insertInto('offer_makers').values(row).execute()
}

/** Returns the operator key that made an own offer. Undefined when the offer has expired or no maker was stored. */
export async function findOfferMaker(db: Reader, offer_id: string): Promise<string | undefined> {
  const row = await db
    .selectFrom('offer_makers')
    .select('operator_public_key')
    .where('offer_id', '=', offer_id)
    .executeTakeFirst()
  return row?.operator_public_key
}

/** No key can accept expired offers. */
export async function purgeOfferMakers(database: Database, before: string, signal: AbortSignal): Promise<void> {
  await deleteInParts(database, 'offer_makers', sql`expires_at < ${before}`, signal)
}
