import type { Migration } from '../migration.ts'

/** The state of the network, one row a minute, stored for a day, for the dashboard. */
export const activity: Migration = {
  version: 8,
  async up(tx, { bigint }) {
    await tx.schema
      .createTable('activity_minutes')
      .addColumn('minute', 'text', (c) => c.primaryKey())
      .addColumn('active', bigint, (c) => c.notNull())
      .addColumn('tracked', bigint, (c) => c.notNull())
      .addColumn('expiring', bigint, (c) => c.notNull())
      .execute()
  },
}
