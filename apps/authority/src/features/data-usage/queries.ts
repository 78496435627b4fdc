import { type Reader, type Transaction, assertStored } from '../../database/database.ts'
import type { Tables } from '../../database/tables.ts'

/** The policy in force for a licensee; without one the newest of all. */
export async function findLicense(db: Reader, licensee: string | undefined): Promise<string | undefined> {
  const policies = db.selectFrom('data_license_policies').select('policy_json')
  const row = await (
    licensee === undefined ? policies.where('active', '=', 1) : policies.where('in_force_for', '=', licensee)
  ).executeTakeFirst()
  return row?.policy_json
}

/**
 * Adds a policy, puts it in force for its licensee and makes it the active one, which is the newest. The caller has the
 * lock. Earlier policies stay. Returns the id of the policy that was in force for the licensee.
 */
export async function insertLicense(
  tx: Transaction,
  row: Omit<Tables['data_license_policies'], 'position' | 'active' | 'in_force_for'> & {
    readonly in_force_for: string
  },
): Promise<string | null> {
  const last = await tx.query
    .selectFrom('data_license_policies')
    .select((eb) => eb.fn.max('position').as('position'))
    .executeTakeFirst()
  const previous = await tx.query
    .updateTable('data_license_policies')
    .set({ in_force_for: null })
    .where('in_force_for', '=', row.in_force_for)
    .returning('policy_id')
    .executeTakeFirst()
  await tx.query.updateTable('data_license_policies').set({ active: 0 }).where('active', '=', 1).execute()
  const stored = await tx.query
    .insertInto('data_license_policies')
    .values({ ...row, position: Number(last?.position ?? 0) + 1, active: 1 })
    .returning('policy_json')
    .executeTakeFirst()
  assertStored(row.policy_json, stored?.policy_json)
  return previous?.policy_id ?? null
}
