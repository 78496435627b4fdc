import { sql } from 'kysely'
import type { Migration } from '../migration.ts'

/** The index of refused submissions by time, for the list of them and for their removal. */
export const newestRejections: Migration = {
  version: 34,
  servesFrom: 25,
  async up(tx) {
    await sql`create index evidence_rejections_newest on evidence_rejections (rejected_at, rejection_id)`.execute(tx)
  },
}
