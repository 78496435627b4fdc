import { sql } from 'kysely'
import type { Migration } from '../migration.ts'

/** Active nodes are counted by their keys, and the successor of a certificate is looked up for the roster. */
export const liveKeys: Migration = {
  version: 15,
  async up(tx) {
    // Nullable: an instance of the release before may still issue certificates while this one runs.
    await sql`alter table node_liveness add column node_public_key text`.execute(tx)
    await sql`update node_liveness set node_public_key = issued_certs.node_public_key
      from issued_certs where issued_certs.cert_id = node_liveness.cert_id`.execute(tx)
    await sql`create index issued_certs_successors on issued_certs (renewed_from) where renewed_from is not null`.execute(
      tx,
    )
  },
}
