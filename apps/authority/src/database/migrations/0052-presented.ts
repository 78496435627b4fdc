import type { Migration } from '../database.ts'

/** Certificates that nodes presented because a restored database lacks them, until an operator adopts them. */
export const presented: Migration = {
  version: 52,
  servesFrom: 48,
  async up(tx) {
    await tx.schema
      .createTable('presented_certs')
      .addColumn('cert_id', 'text', (c) => c.notNull().primaryKey())
      .addColumn('node_public_key', 'text', (c) => c.notNull())
      .addColumn('cert_json', 'text', (c) => c.notNull())
      .addColumn('presented_at', 'text', (c) => c.notNull())
      .addColumn('expires_at', 'text', (c) => c.notNull())
      .addColumn('source', 'text', (c) => c.notNull())
      .execute()
    await tx.schema.createIndex('presented_certs_by_source').on('presented_certs').column('source').execute()
    await tx.schema.createIndex('presented_certs_by_end').on('presented_certs').column('expires_at').execute()
  },
}
