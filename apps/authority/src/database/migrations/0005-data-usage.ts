import { sql } from 'kysely'
import type { Migration } from '../migration.ts'

/** Data license policies: all that were published, of which at most one is active. */
export const dataUsage: Migration = {
  version: 5,
  async up(tx, { bigint }) {
    await tx.insertInto('heads').values({ name: 'data-usage', version: 0 }).execute()
    await tx.schema
      .createTable('data_license_policies')
      .addColumn('position', bigint, (c) => c.primaryKey())
      .addColumn('policy_id', 'text', (c) => c.notNull().unique())
      .addColumn('policy_json', 'text', (c) => c.notNull())
      .addColumn('active', 'integer', (c) => c.notNull())
      .addColumn('created_at', 'text', (c) => c.notNull())
      .execute()
    await sql`create unique index data_license_policies_one_active on data_license_policies (active) where active = 1`.execute(
      tx,
    )
  },
}
