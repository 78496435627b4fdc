import { Refusal } from '@chancery/contract'
import { jsonText } from '@chancery/service-kit'
import type { Answer, Call } from '@chancery/service-kit'
import type { Office } from '../../office.ts'
import { findActiveLicense } from './store.ts'

/**
 * GET /data-usage/policy
 * The data license policy in force, as it was signed.
 */
export async function current(_call: Call, office: Office): Promise<Answer> {
  const text = await findActiveLicense(office.store.db)
  if (text === undefined) throw new Refusal('no_policy')
  return jsonText(text)
}
