import { isJsonObject, readJson } from '@chancery/protocol'
import { sql } from 'kysely'
import type { Migration } from '../database.ts'

/**
 * The licensee for which a data license is in force: one license for each. Before, a new license replaced all others,
 * so only the active one is in force. A release of before replaces only the newest, and its licenses are not found by
 * licensee.
 */
export const licensees: Migration = {
  version: 50,
  servesFrom: 48,
  async up(tx) {
    await sql`alter table data_license_policies add column in_force_for text`.execute(tx)
    const active = await tx
      .selectFrom('data_license_policies')
      .select(['position', 'policy_json'])
      .where('active', '=', 1)
      .executeTakeFirst()
    const policy = active && readJson(active.policy_json)
    const licensee = isJsonObject(policy) ? policy['licensee_sovereign_id'] : undefined
    if (typeof licensee === 'string')
      await tx
        .updateTable('data_license_policies')
        .set({ in_force_for: licensee })
        .where('position', '=', active?.position ?? 0)
        .execute()
    await sql`create unique index data_license_policies_in_force on data_license_policies (in_force_for)`.execute(tx)
  },
}
