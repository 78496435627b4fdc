import { sql } from 'kysely'
import type { Migration } from '../migration.ts'

/**
 * For lists of nodes and agents, and for the page of a node. A mark on nodes without a recent heartbeat, with an index of marked rows only: an index on the
 * time itself would be changed by every heartbeat. Indexes of prefixes sort by bytes, because other collations cannot
 * serve a prefix.
 */
export const silentNodes: Migration = {
  version: 36,
  servesFrom: 25,
  async up(tx, { backend }) {
    const bytes = sql.raw(backend === 'postgres' ? ' collate "C"' : '')
    await sql`alter table node_liveness add column silent_since text`.execute(tx)
    await sql`create index node_liveness_silent on node_liveness (silent_since, cert_id) where silent_since is not null`.execute(
      tx,
    )
    await sql`create index node_liveness_by_address on node_liveness (remote_addr${bytes}, cert_id)`.execute(tx)
    await sql`create index node_labels_by_label on node_labels (folded${bytes}, node_public_key)`.execute(tx)
    await sql`create index agent_registrations_by_id on agent_registrations (agent_id${bytes}, node_public_key) where listed = 1`.execute(
      tx,
    )
    await sql`create index issued_certs_ending on issued_certs (expires_at, cert_id)`.execute(tx)
    await sql`create index invite_tokens_by_user on invite_tokens (used_by_key) where used_by_key is not null`.execute(
      tx,
    )
    // Null until the agent is refreshed, which is at most a day.
    await sql`alter table agent_registrations add column host text`.execute(tx)
    await sql`create index agent_registrations_by_host on agent_registrations (host${bytes}, node_public_key) where listed = 1`.execute(
      tx,
    )
    // On SQLite issued_certs_newest_of_key and the primary key of agent_capabilities serve prefixes.
    if (backend === 'sqlite') return
    await sql`create index issued_certs_by_key_prefix on issued_certs (node_public_key${bytes}, cert_id)`.execute(tx)
    await sql`create index agent_capabilities_by_prefix on agent_capabilities (capability${bytes}, node_public_key)`.execute(
      tx,
    )
  },
}
