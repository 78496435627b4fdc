import { sql } from 'kysely'
import type { Migration } from '../migration.ts'

/** What each version of the revocation list changed, so that a reader with an earlier one need not load all of it. */
export const listChanges: Migration = {
  version: 43,
  async up(tx) {
    await sql`alter table crl_versions add column change_json text`.execute(tx)
  },
}
