import { sql } from 'kysely'
import type { Migration } from '../migration.ts'

/** When something last happened: a write that was made to see whether one can be made, a backup, a look at a feed. */
export const moments: Migration = {
  version: 22,
  async up(tx) {
    await tx.schema
      .createTable('moments')
      .addColumn('name', 'text', (c) => c.primaryKey())
      .addColumn('at', 'text', (c) => c.notNull())
      .execute()
    await sql`alter table imported_issuers add column confirmed_at text`.execute(tx)
  },
}
