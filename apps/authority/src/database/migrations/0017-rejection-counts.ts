import type { Migration } from '../migration.ts'

/**
 * Number of rejected submissions of unknown signers that became entries in the current minute and day, over all
 * instances.
 */
export const rejectionCounts: Migration = {
  version: 17,
  async up(tx, { bigint }) {
    await tx.schema
      .createTable('evidence_rejection_counts')
      .addColumn('span', 'text', (c) => c.primaryKey())
      .addColumn('number', bigint, (c) => c.notNull())
      .addColumn('singles', bigint, (c) => c.notNull())
      .execute()
    await tx
      .insertInto('evidence_rejection_counts')
      .values(['minute', 'day'].map((span) => ({ span, number: 0, singles: 0 })))
      .execute()
  },
}
