import { Refusal } from '@chancery/contract'
import {
  BOUNDARY_POLICY_FORM,
  checkReceivedForm,
  isJsonObject,
  isWellFormed,
  readReceived,
  receivedDigest,
  verifyReceivedPlainly,
} from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import type { Call } from '@chancery/service-kit'
import type { BoundaryPoliciesParts } from './parts.ts'
import { ownKeysAt } from '../../signing/own-keys.ts'
import { readOrRefuse, readTrustKeys } from '../../requests/read-fields.ts'
import { recordVerification } from '../../requests/record-verification.ts'

/**
 * POST /boundary-policies/verify
 * Verifies that one of the keys signed exactly this policy. Writes nothing.
 */
export async function verify(call: Call, parts: BoundaryPoliciesParts): Promise<JsonObject> {
  const given = call.body['policy']
  if (!isJsonObject(given)) throw new Refusal('missing_policy')
  const received = readOrRefuse('invalid_policy', () => readReceived(BOUNDARY_POLICY_FORM, given))
  if (!isWellFormed(received.record)) throw new Refusal('invalid_policy')
  const form = checkReceivedForm(received)
  // The type is closed: an unknown member is refused before the signature is checked.
  if (!form.ok && form.reason === 'unknown_field') throw new Refusal('invalid_policy')
  const keys = readTrustKeys(call.body, 'issuer_public_keys', ownKeysAt(parts.keys, received.record.issued_at))
  const verdict = await verifyReceivedPlainly(received, keys)
  const reason = verdict.ok ? 'valid' : verdict.reason
  recordVerification(call, parts, verdict.ok, reason)
  const { policy_id, version } = received.record
  return { valid: verdict.ok, reason, policy_id, version, policy_digest: receivedDigest(received) }
}
