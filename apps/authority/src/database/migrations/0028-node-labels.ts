import { sql } from 'kysely'
import type { Migration } from '../migration.ts'

/**
 * Labels of node keys, and the indexes of the certificate inventory. The wider index by key replaces the narrow one: a
 * search by label reads issue times from it and no rows.
 */
export const nodeLabels: Migration = {
  version: 28,
  servesFrom: 25,
  async up(tx) {
    await tx.schema
      .createTable('node_labels')
      .addColumn('node_public_key', 'text', (c) => c.primaryKey())
      .addColumn('label', 'text', (c) => c.notNull())
      .addColumn('folded', 'text', (c) => c.notNull())
      .execute()
    await sql`alter table invite_tokens add column label text`.execute(tx)
    await sql`create index issued_certs_newest on issued_certs (issued_at desc, cert_id)`.execute(tx)
    await sql`create index issued_certs_newest_of_key on issued_certs (node_public_key, issued_at, cert_id)`.execute(tx)
    await sql`drop index issued_certs_by_key`.execute(tx)
    await sql`create index issued_certs_newest_revoked on issued_certs (issued_at desc, cert_id) where status = 'revoked'`.execute(
      tx,
    )
    await sql`create index issued_certs_newest_superseded on issued_certs (issued_at desc, cert_id)
      where status = 'issued' and revoke_after is not null`.execute(tx)
  },
}
