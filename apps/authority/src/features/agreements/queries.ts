import type { Tx } from '../../database/database.ts'

export interface OfferMaker {
  readonly offer_id: string
  readonly operator_public_key: string
  readonly expires_at: string
}

export async function insertOfferMaker(tx: Tx, row: OfferMaker): Promise<void> {
  await tx.insertInto('offer_makers').values(row).execute()
}

/** The operator key an own offer was made through; undefined when the offer is over or was made before this was kept. */
export async function findOfferMaker(db: Tx, offer_id: string): Promise<string | undefined> {
  const row = await db
    .selectFrom('offer_makers')
    .select('operator_public_key')
    .where('offer_id', '=', offer_id)
    .executeTakeFirst()
  return row?.operator_public_key
}

/** Offers that are over cannot be accepted by any key. */
export async function purgeOfferMakers(db: Tx, before: string): Promise<void> {
  await db.deleteFrom('offer_makers').where('expires_at', '<', before).execute()
}
