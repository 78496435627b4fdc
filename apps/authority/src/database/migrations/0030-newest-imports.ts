import { sql } from 'kysely'
import type { Migration } from '../migration.ts'

/** The index of the newest imported revocations, of which the graph has only the first. */
export const newestImports: Migration = {
  version: 30,
  servesFrom: 25,
  async up(tx) {
    await sql`create index imported_sovereign_revocations_newest on imported_sovereign_revocations
      (imported_at desc, issuer_sovereign_id, attestation_id)`.execute(tx)
  },
}
