import type { Reader, Transaction } from '../../database/database.ts'
import { assertStored } from '../../database/assert-stored.ts'

export async function findActiveLicense(db: Reader): Promise<string | undefined> {
  const row = await db
    .selectFrom('data_license_policies')
    .select('policy_json')
    .where('active', '=', 1)
    .executeTakeFirst()
  return row?.policy_json
}

/**
 * Adds a policy and makes it the only active one. The caller has the lock. Earlier policies stay, inactive. Returns the
 * id of the replaced policy.
 */
export async function insertActiveLicense(
  tx: Transaction,
  row: { readonly policy_id: string; readonly policy_json: string; readonly created_at: string },
): Promise<string | null> {
  const last = await tx.query
    .selectFrom('data_license_policies')
    .select((eb) => eb.fn.max('position').as('position'))
    .executeTakeFirst()
  const previous = await tx.query
    .updateTable('data_license_policies')
    .set({ active: 0 })
    .where('active', '=', 1)
    .returning('policy_id')
    .executeTakeFirst()
  const stored = await tx.query
    .insertInto('data_license_policies')
    .values({ ...row, position: Number(last?.position ?? 0) + 1, active: 1 })
    .returning('policy_json')
    .executeTakeFirst()
  assertStored(row.policy_json, stored?.policy_json)
  return previous?.policy_id ?? null
}
