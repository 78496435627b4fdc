import { sql } from 'kysely'
import type { Migration } from '../migration.ts'

/** Boundary policies, one row per signed version. */
export const boundaryPolicies: Migration = {
  version: 4,
  async up(tx, { backend, bigint }) {
    await tx.insertInto('heads').values({ name: 'boundary-policies', version: 0 }).execute()
    // Ordered by code point on both engines, whatever locale the server was made with.
    const orderedText = backend === 'postgres' ? sql`text collate "C"` : sql`text`
    await tx.schema
      .createTable('boundary_policies')
      .addColumn('policy_id', orderedText, (c) => c.notNull())
      .addColumn('version', bigint, (c) => c.notNull())
      .addColumn('policy_json', 'text', (c) => c.notNull())
      .addColumn('policy_digest', 'text', (c) => c.notNull())
      .addColumn('active', 'integer', (c) => c.notNull())
      .addColumn('created_at', 'text', (c) => c.notNull())
      .addColumn('activated_at', 'text')
      .addColumn('deactivated_at', 'text')
      .addPrimaryKeyConstraint('boundary_policies_key', ['policy_id', 'version'])
      .execute()
    await sql`create unique index boundary_policies_one_active on boundary_policies (policy_id) where active = 1`.execute(
      tx,
    )
  },
}
