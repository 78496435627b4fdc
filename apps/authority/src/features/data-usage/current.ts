import { Refusal } from '@chancery/contract'
import { jsonText } from '@chancery/service-kit'
import type { HttpResponse, Call } from '@chancery/service-kit'
import type { DataUsageParts } from './parts.ts'
import { findActiveLicense } from './queries.ts'

/**
 * GET /data-usage/policy
 * Returns the active data license policy, as it was signed.
 */
export async function current(_call: Call, parts: DataUsageParts): Promise<HttpResponse> {
  const text = await findActiveLicense(parts.database.read)
  if (text === undefined) throw new Refusal('no_policy')
  return jsonText(text)
}
