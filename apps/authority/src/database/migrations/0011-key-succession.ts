import type { Migration } from '../migration.ts'

/** Former keys of the authority, and the lists they go on signing (decision 0006). */
export const keySuccession: Migration = {
  version: 11,
  async up(tx, { bigint }) {
    await tx.schema
      .createTable('former_keys')
      .addColumn('key_id', 'text', (c) => c.primaryKey())
      .addColumn('public_key', 'text', (c) => c.notNull().unique())
      .addColumn('succeeded_at', 'text', (c) => c.notNull())
      .addColumn('lists_until', 'text', (c) => c.notNull())
      .execute()
    await tx.schema
      .createTable('former_crl_versions')
      .addColumn('key_id', 'text', (c) => c.notNull())
      .addColumn('sequence', bigint, (c) => c.notNull())
      .addColumn('crl_json', 'text', (c) => c.notNull())
      .addColumn('next_update', 'text', (c) => c.notNull())
      .addPrimaryKeyConstraint('former_crl_versions_key', ['key_id', 'sequence'])
      .execute()
  },
}
