import { type PolicyManifest, readJson, readPolicyManifest } from '@chancery/protocol'
import { type Reader, type Transaction, assertStored } from '../../database/database.ts'

export interface StoredPolicy {
  readonly position: number
  readonly policy_id: string
  readonly policy_json: string
  readonly active: number
  readonly created_at: string
}

export function findActivePolicy(db: Reader): Promise<StoredPolicy | undefined> {
  return db.selectFrom('policy_versions').selectAll().where('active', '=', 1).executeTakeFirst()
}

export function findPolicy(db: Reader, policy_id: string): Promise<StoredPolicy | undefined> {
  return db.selectFrom('policy_versions').selectAll().where('policy_id', '=', policy_id).executeTakeFirst()
}

/** Adds an inactive version. Positions are assigned under the lock, so they have no gaps and order the history. */
export async function insertPolicy(
  tx: Transaction,
  policy_id: string,
  policy_json: string,
  created_at: string,
): Promise<void> {
  const last = await tx.query
    .selectFrom('policy_versions')
    .select((eb) => eb.fn.max('position').as('position'))
    .executeTakeFirst()
  const row = await tx.query
    .insertInto('policy_versions')
    .values({ position: Number(last?.position ?? 0) + 1, policy_id, policy_json, active: 0, created_at })
    .returning('policy_json')
    .executeTakeFirst()
  assertStored(policy_json, row?.policy_json)
}

/** Makes one version the active one. The caller has the lock. */
export async function activatePolicy(tx: Transaction, policy_id: string): Promise<void> {
  await tx.query.updateTable('policy_versions').set({ active: 0 }).where('active', '=', 1).execute()
  await tx.query.updateTable('policy_versions').set({ active: 1 }).where('policy_id', '=', policy_id).execute()
}

/** Newest first. */
export function policyList(db: Reader) {
  const order = [{ column: 'position', descending: true, form: /[1-9][0-9]{0,14}/ }] as const
  return { rows: db.selectFrom('policy_versions').selectAll(), order }
}

export function toManifest(row: StoredPolicy): PolicyManifest {
  return readPolicyManifest(readJson(row.policy_json))
}
