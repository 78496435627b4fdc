import { Refusal, dataUsage } from '@chancery/contract'
import { bind } from '../../auth/access.ts'
import type { Feature } from '../../core.ts'
import { intent, publish, readLicensee } from './publish.ts'
import { type DataUsageParts, checkUsage, record, usageVerdict } from './check-usage.ts'
import { type Call, type HttpResponse, jsonText } from '@chancery/service-kit'
import { findLicense } from './queries.ts'
import type { JsonObject } from '@chancery/protocol'
import { recordVerification } from '../../requests/read-fields.ts'

/**
 * GET /data-usage/policy
 * Returns a data license policy in force, as it was signed: that of the named licensee, or else the newest.
 */
async function current(call: Call, parts: DataUsageParts): Promise<HttpResponse> {
  const text = await findLicense(parts.database.read, readLicensee(call.query))
  if (text === undefined) throw new Refusal('no_policy')
  return jsonText(text)
}

/**
 * POST /data-usage/verify
 * Returns every use of an intent that its license does not allow. Writes nothing.
 */
async function verify(call: Call, parts: DataUsageParts): Promise<JsonObject> {
  const checked = await checkUsage(call.body, parts)
  const reason = checked.found[0]?.type
  recordVerification(call, parts, reason === undefined, reason ?? 'valid')
  return usageVerdict(checked)
}

export function openDataUsage(parts: DataUsageParts): Feature {
  return {
    routes: [
      bind(dataUsage.publish, (call) => publish(call, parts)),
      bind(dataUsage.intent, (call) => intent(call, parts)),
      bind(dataUsage.record, (call) => record(call, parts)),
      bind(dataUsage.current, (call) => current(call, parts)),
      bind(dataUsage.verify, (call) => verify(call, parts)),
    ],
    jobs: [],
    close: () => Promise.resolve(),
  }
}
