import { sql } from 'kysely'
import type { Migration } from '../migration.ts'

/** Indexes of the treaties by their end, and by the first characters of the subject in the order of bytes. */
export const treatyLists: Migration = {
  version: 35,
  servesFrom: 25,
  async up(tx, { backend }) {
    await sql`create index recognition_treaties_by_end on recognition_treaties (expires_at, treaty_id)`.execute(tx)
    const subject = backend === 'postgres' ? sql`subject_sovereign_id collate "C"` : sql`subject_sovereign_id`
    await sql`create index recognition_treaties_by_prefix on recognition_treaties (${subject})`.execute(tx)
  },
}
