import { sql } from 'kysely'
import type { Migration } from '../migration.ts'

/** What stays of list versions whose text was removed, and the renewals of a key within an hour. */
export const oldLists: Migration = {
  version: 13,
  async up(tx, { bigint }) {
    await tx.schema
      .createTable('removed_crl_versions')
      .addColumn('sequence', bigint, (c) => c.primaryKey())
      .addColumn('digest', 'text', (c) => c.notNull())
      .addColumn('removed_at', 'text', (c) => c.notNull())
      .execute()
    await sql`create index crl_versions_by_end on crl_versions (next_update)`.execute(tx)
    await sql`create index issued_certs_renewals on issued_certs (node_public_key, issued_at) where renewed_from is not null`.execute(
      tx,
    )
  },
}
