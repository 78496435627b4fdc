import { sql } from 'kysely'
import type { Migration } from '../migration.ts'

/** The agent registry: one row per agent in order of registration, postings per capability, counters, tombstones. */
export const agents: Migration = {
  version: 2,
  async up(tx, { backend, bigint }) {
    await tx.schema
      .createTable('agent_registrations')
      .addColumn('node_public_key', 'text', (c) => c.primaryKey())
      .addColumn('agent_id', 'text', (c) => c.notNull())
      .addColumn('descriptor_json', 'text', (c) => c.notNull())
      .addColumn('capabilities_json', 'text', (c) => c.notNull())
      .addColumn('registered_at', 'text', (c) => c.notNull())
      .addColumn('expires_at', 'text', (c) => c.notNull())
      // 0 after the postings are removed: the row then only records the newest descriptor.
      .addColumn('listed', 'integer', (c) => c.notNull())
      .execute()
    if (backend === 'postgres') await sql`alter table agent_registrations set (fillfactor = 80)`.execute(tx)
    await tx.schema
      .createIndex('agent_registrations_newest')
      .on('agent_registrations')
      .columns(['registered_at desc', 'node_public_key'])
      .execute()
    await sql`create index agent_registrations_expiry on agent_registrations (expires_at) where listed = 1`.execute(tx)
    await sql`create index agent_registrations_unlisted on agent_registrations (registered_at) where listed = 0`.execute(
      tx,
    )

    // No time in a posting: a refresh that keeps its capabilities does not touch them.
    await tx.schema
      .createTable('agent_capabilities')
      .addColumn('capability', 'text', (c) => c.notNull())
      .addColumn('node_public_key', 'text', (c) => c.notNull())
      .addPrimaryKeyConstraint('agent_capabilities_key', ['capability', 'node_public_key'])
      .execute()

    await tx.schema
      .createTable('agent_capability_counts')
      .addColumn('capability', 'text', (c) => c.primaryKey())
      .addColumn('agents', bigint, (c) => c.notNull())
      .execute()
    // The most common tag is asked for in every search.
    await tx.schema.createIndex('agent_capability_counts_most').on('agent_capability_counts').column('agents').execute()

    await tx.schema
      .createTable('agent_tombstones')
      .addColumn('node_public_key', 'text', (c) => c.primaryKey())
      .addColumn('signed_at', 'text', (c) => c.notNull())
      .addColumn('keep_until', 'text', (c) => c.notNull())
      .execute()
  },
}
