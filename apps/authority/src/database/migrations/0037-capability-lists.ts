import { sql } from 'kysely'
import type { Migration } from '../migration.ts'

/** For the list of capabilities by number of agents, and for its search by prefix. */
export const capabilityLists: Migration = {
  version: 37,
  servesFrom: 25,
  async up(tx, { backend }) {
    const bytes = sql.raw(backend === 'postgres' ? ' collate "C"' : '')
    await sql`create index agent_capability_counts_listed on agent_capability_counts (agents desc, capability${bytes})`.execute(
      tx,
    )
    // On SQLite the primary key serves prefixes.
    if (backend === 'sqlite') return
    await sql`create index agent_capability_counts_by_prefix on agent_capability_counts (capability${bytes})`.execute(
      tx,
    )
  },
}
