import type { Migration } from '../migration.ts'

/** The operator key of each own offer, while the offer is open. */
export const offerMakers: Migration = {
  version: 14,
  async up(tx) {
    await tx.schema
      .createTable('offer_makers')
      .addColumn('offer_id', 'text', (c) => c.primaryKey())
      .addColumn('operator_public_key', 'text', (c) => c.notNull())
      .addColumn('expires_at', 'text', (c) => c.notNull())
      .execute()
    await tx.schema.createIndex('offer_makers_by_end').on('offer_makers').column('expires_at').execute()
  },
}
