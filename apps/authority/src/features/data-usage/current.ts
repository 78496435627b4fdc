import { Refusal } from '@chancery/contract'
import { type Call, type HttpResponse, jsonText } from '@chancery/service-kit'
import type { DataUsageParts } from './parts.ts'
import { findLicense } from './queries.ts'
import { readLicensee } from './requests.ts'

/**
 * GET /data-usage/policy
 * Returns a data license policy in force, as it was signed: that of the named licensee, or else the newest.
 */
export async function current(call: Call, parts: DataUsageParts): Promise<HttpResponse> {
  const text = await findLicense(parts.database.read, readLicensee(call.query))
  if (text === undefined) throw new Refusal('no_policy')
  return jsonText(text)
}
