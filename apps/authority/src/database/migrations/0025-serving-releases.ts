import { sql } from 'kysely'
import type { Migration } from '../migration.ts'

/** Which releases may go on serving on a schema that is newer than theirs. */
export const servingReleases: Migration = {
  version: 25,
  async up(tx) {
    await sql`alter table schema_version add column serves_from integer`.execute(tx)
  },
}
