import type { Migration } from '../migration.ts'

/** Which instances run with which operators, and what was recovered when. */
export const instances: Migration = {
  version: 7,
  async up(tx, { bigint }) {
    await tx.schema
      .createTable('instances')
      .addColumn('instance', 'text', (c) => c.primaryKey())
      .addColumn('operator_digest', 'text', (c) => c.notNull())
      .addColumn('seen_at', 'text', (c) => c.notNull())
      .execute()

    await tx.schema
      .createTable('recoveries')
      .addColumn('position', bigint, (c) => c.primaryKey())
      .addColumn('recovered_at', 'text', (c) => c.notNull())
      .addColumn('replay_floor', 'text', (c) => c.notNull())
      .execute()
  },
}
