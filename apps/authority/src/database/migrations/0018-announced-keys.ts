import { sql } from 'kysely'
import type { Migration } from '../migration.ts'

/** The next key as the root announces it, and which nodes hold its genesis block (decision 0006). */
export const announcedKeys: Migration = {
  version: 18,
  async up(tx) {
    await tx.schema
      .createTable('key_succession')
      .addColumn('id', 'integer', (c) => c.primaryKey())
      .addColumn('key_id', 'text', (c) => c.notNull())
      .addColumn('genesis_digest', 'text', (c) => c.notNull())
      .addColumn('genesis_json', 'text', (c) => c.notNull())
      .addColumn('history_json', 'text', (c) => c.notNull())
      .addColumn('first_list_json', 'text')
      .addColumn('phase', 'text', (c) => c.notNull())
      .addColumn('announced_at', 'text', (c) => c.notNull())
      .addColumn('switched_at', 'text')
      .execute()
    // Nullable: nodes and instances of the release before say nothing.
    await sql`alter table node_liveness add column genesis_digest text`.execute(tx)
  },
}
