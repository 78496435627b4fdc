import { Refusal } from '@chancery/contract'
import { jsonText } from '@chancery/service-kit'
import type { Answer, Call } from '@chancery/service-kit'
import type { Office } from '../../office.ts'
import { findActivePolicyText } from './store.ts'

/**
 * GET /recognition-policy
 * The acceptance policy in force.
 */
export async function current(_call: Call, office: Office): Promise<Answer> {
  const text = await findActivePolicyText(office.store.db)
  if (text === undefined) throw new Refusal('recognition_policy_not_configured')
  return jsonText(text)
}
