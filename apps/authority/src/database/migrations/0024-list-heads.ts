import { sql } from 'kysely'
import type { Migration } from '../migration.ts'

/** The signed head of each list, and its size: counting the bytes of the text would read all of it. */
export const listHeads: Migration = {
  version: 24,
  async up(tx) {
    await sql`alter table crl_versions add column head_json text`.execute(tx)
    await sql`alter table crl_versions add column bytes integer`.execute(tx)
  },
}
