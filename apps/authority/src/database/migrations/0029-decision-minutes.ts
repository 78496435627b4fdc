import type { Migration } from '../migration.ts'

/** Number of decisions, one row for each minute and kind of asker, stored for an hour, for the dashboard. */
export const decisionMinutes: Migration = {
  version: 29,
  servesFrom: 25,
  async up(tx, { bigint }) {
    await tx.schema
      .createTable('decision_minutes')
      .addColumn('minute', 'text', (c) => c.notNull())
      .addColumn('asked_by', 'text', (c) => c.notNull())
      .addColumn('authorized', bigint, (c) => c.notNull())
      .addColumn('denied', bigint, (c) => c.notNull())
      .addColumn('denied_for_freshness', bigint, (c) => c.notNull())
      .addPrimaryKeyConstraint('decision_minutes_key', ['minute', 'asked_by'])
      .execute()
  },
}
