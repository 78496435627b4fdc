import { json, jsonText } from '@chancery/service-kit'
import type { Answer } from '@chancery/service-kit'
import { causedBy } from '../../audit/record.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import type { Office } from '../../office.ts'
import { requireSigningWindow } from '../../signing/seal.ts'
import { readAttempt } from '../../store/idempotency.ts'
import { foreseeRevocation } from './foresee.ts'
import { readRevokeRequest } from './requests.ts'

/**
 * POST /admin/revoke
 * Withdraws certificates and publishes the list that says so, in one transaction; in force on every instance and for
 * every reader of the list from the next request on. Repeating it changes nothing.
 */
export async function revoke(call: OperatorCall, office: Office): Promise<Answer> {
  const { cert_ids, form, reason, isDryRun } = readRevokeRequest(call.body)
  if (isDryRun) return json(await foreseeRevocation(office, { cert_ids, form, reason }))
  requireSigningWindow(office)
  const attempt = readAttempt(call, office.clock.now())
  const { text, status } = await office.crl.revoke(office, { cert_ids, form, reason, attempt, cause: causedBy(call) })
  return jsonText(text, status)
}
