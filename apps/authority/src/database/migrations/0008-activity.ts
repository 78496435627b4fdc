import type { Migration } from '../migration.ts'

/** What the network looked like, one row a minute, kept for a day: the history behind the dashboard. */
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
