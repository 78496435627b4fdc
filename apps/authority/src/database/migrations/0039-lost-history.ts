import { sql } from 'kysely'
import type { Migration } from '../migration.ts'

/** The last change in the restored backup, so that answers about the time between it and the recovery are unknown. */
export const lostHistory: Migration = {
  version: 39,
  servesFrom: 25,
  async up(tx) {
    await sql`alter table recoveries add column known_until text`.execute(tx)
  },
}
