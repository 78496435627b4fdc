import { sql } from 'kysely'
import type { Migration } from '../migration.ts'

/** The number of rows of each table, once a day, and an index for the end of imported feeds. */
export const tableRows: Migration = {
  version: 45,
  servesFrom: 43,
  async up(tx, { bigint }) {
    await tx.schema
      .createTable('table_rows')
      .addColumn('table_name', 'text', (c) => c.notNull())
      .addColumn('day', 'text', (c) => c.notNull())
      .addColumn('row_count', bigint, (c) => c.notNull())
      .addPrimaryKeyConstraint('table_rows_key', ['table_name', 'day'])
      .execute()
    await sql`create index sovereign_revocation_feeds_removed on sovereign_revocation_feeds (imported_at)
      where digest is not null`.execute(tx)
  },
}
