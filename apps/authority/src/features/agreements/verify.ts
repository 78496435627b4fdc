import { agreementRecordForm, readReceived, verifyAgreement } from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import type { Call } from '@chancery/service-kit'
import type { AgreementsParts } from './parts.ts'
import { readOrRefuse, readTrustKeys, requirePresent } from '../../requests/read-fields.ts'
import { recordVerification } from '../../requests/record-verification.ts'

/**
 * POST /agreements/verify
 * Verifies an agreement with the keys of its parties. Without keys of the offerer it is verified as an own record,
 * which must match the current graph. Writes nothing.
 */
export async function verify(call: Call, parts: AgreementsParts): Promise<JsonObject> {
  const given = requirePresent(call.body, 'agreement', 'missing_agreement')
  const agreement = readOrRefuse('invalid_agreement', () => readReceived(agreementRecordForm, given))
  const own = parts.keys.all
  const supplied = readTrustKeys(call.body, 'offerer_public_keys', [])
  const responderKeys = readTrustKeys(call.body, 'responder_public_keys', own)
  const offererKeys = supplied.length === 0 ? own : supplied
  const expectedGraphDigest = supplied.length === 0 ? await parts.connectome.graphDigest() : undefined
  const verdict = await verifyAgreement(agreement, { offererKeys, responderKeys, expectedGraphDigest })
  const reason = verdict.ok ? 'accepted' : verdict.reason
  recordVerification(call, parts, verdict.ok, reason)
  return { accepted: verdict.ok, reason, agreement_id: agreement.record.agreement_id }
}
