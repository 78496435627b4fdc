import { sql } from 'kysely'
import type { Migration } from '../database.ts'

/** What each instance reports for a switch of the key without a stop: the block whose key it has, and where it waits. */
export const liveSwitch: Migration = {
  version: 51,
  servesFrom: 48,
  async up(tx) {
    await sql`alter table instances add column next_block text`.execute(tx)
    await sql`alter table instances add column switch_stage text`.execute(tx)
    await sql`alter table key_succession add column switch_stage text`.execute(tx)
    await sql`alter table key_succession add column first_list_at text`.execute(tx)
    // What the root signed for the key in use: the next announcement replaces the row of the succession.
    for (const name of ['key_id', 'genesis_json', 'history_json'])
      await sql`alter table authority_identity add column ${sql.raw(name)} text`.execute(tx)
  },
}
