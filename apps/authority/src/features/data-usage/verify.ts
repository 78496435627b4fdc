import type { JsonObject } from '@chancery/protocol'
import type { Call } from '@chancery/service-kit'
import type { DataUsageParts } from './parts.ts'
import { checkUsage, usageVerdict } from './check-usage.ts'
import { recordVerification } from '../../requests/record-verification.ts'

/**
 * POST /data-usage/verify
 * Returns every use of an intent that its license does not allow. Writes nothing.
 */
export async function verify(call: Call, parts: DataUsageParts): Promise<JsonObject> {
  const checked = await checkUsage(call.body, parts)
  const reason = checked.found[0]?.type
  recordVerification(call, parts, reason === undefined, reason ?? 'valid')
  return usageVerdict(checked)
}
