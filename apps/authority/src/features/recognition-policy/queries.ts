import { READ_LIMITS } from '@chancery/contract'
import { type RecognitionPolicy, readJson, readRecognitionPolicy } from '@chancery/protocol'
import type { Reader, Transaction } from '../../database/database.ts'

const LIMITS = { maxDepth: 64, maxValues: READ_LIMITS.large.values, maxNames: READ_LIMITS.large.namesPerObject }

export async function findActivePolicyText(db: Reader): Promise<string | undefined> {
  const row = await db
    .selectFrom('recognition_policies')
    .select('policy_json')
    .where('active', '=', 1)
    .executeTakeFirst()
  return row?.policy_json
}

export async function findActiveRecognitionPolicy(db: Reader): Promise<RecognitionPolicy | undefined> {
  const text = await findActivePolicyText(db)
  return text === undefined ? undefined : readRecognitionPolicy(readJson(text, LIMITS))
}

/** Adds a version and makes it the only active one. The caller has the lock. Earlier versions stay. */
export async function insertActivePolicy(
  tx: Transaction,
  policy_id: string,
  policy_json: string,
  created_at: string,
): Promise<void> {
  const last = await tx.query
    .selectFrom('recognition_policies')
    .select((eb) => eb.fn.max('position').as('position'))
    .executeTakeFirst()
  await tx.query.updateTable('recognition_policies').set({ active: 0 }).where('active', '=', 1).execute()
  const position = Number(last?.position ?? 0) + 1
  await tx.query
    .insertInto('recognition_policies')
    .values({ position, policy_id, policy_json, active: 1, created_at })
    .execute()
}
