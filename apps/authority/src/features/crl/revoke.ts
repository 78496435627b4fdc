import { Refusal } from '@chancery/contract'
import { json, jsonText } from '@chancery/service-kit'
import type { Answer } from '@chancery/service-kit'
import { causedBy } from '../../audit/record.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import type { Office } from '../../office.ts'
import { requireSigningWindow } from '../../signing/seal.ts'
import { readAttempt } from '../../store/idempotency.ts'
import { foreseeRevocation } from './foresee.ts'
import { forgottenByKey, forgottenByText, isOurs } from './forgotten.ts'
import type { ForgottenCertificate } from './forgotten.ts'
import { readRevokeRequest } from './requests.ts'
import type { RevokeRequest } from './requests.ts'

/**
 * POST /admin/revoke
 * Withdraws certificates and publishes the list that says so, in one transaction; in force on every instance and for
 * every reader of the list from the next request on. Repeating it changes nothing.
 */
export async function revoke(call: OperatorCall, office: Office): Promise<Answer> {
  const { isDryRun, ...request } = readRevokeRequest(call.body)
  const forgotten = await findForgotten(office, request)
  if (isDryRun) return json(await foreseeRevocation(office, { ...request, forgotten }))
  requireSigningWindow(office)
  const attempt = readAttempt(call, office.clock.now())
  const { text, status } = await office.crl.revoke(office, { ...request, forgotten, attempt, cause: causedBy(call) })
  return jsonText(text, status)
}

/** What the database may have lost in a restore, and would have to know. Signature before anything is looked up. */
async function findForgotten(
  office: Office,
  { certificates, cert_ids, node_public_key }: Pick<RevokeRequest, 'certificates' | 'cert_ids' | 'node_public_key'>,
): Promise<readonly ForgottenCertificate[]> {
  const [id = ''] = cert_ids
  if (node_public_key !== undefined) return [forgottenByKey(id, node_public_key, office.clock.now())]
  const foreign: string[] = []
  for (const certificate of certificates) if (!(await isOurs(office, certificate))) foreign.push(certificate.cert_id)
  if (foreign.length > 0) throw new Refusal('certificate_not_found', { cert_ids: foreign })
  return certificates.map(forgottenByText)
}
