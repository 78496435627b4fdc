import { type JsonObject, readCapabilityCommitment, verifyDisclosure } from '@chancery/protocol'
import type { Call } from '@chancery/service-kit'
import type { DisclosureParts } from './parts.ts'
import { readOrRefuse, readTrustKeys, requirePresent } from '../../requests/read-fields.ts'
import { recordVerification } from '../../requests/record-verification.ts'
import { readProof } from './requests.ts'

/**
 * POST /disclosure/verify
 * Verifies that a proof shows a capability of a commitment. Writes nothing.
 */
export async function verify(call: Call, parts: DisclosureParts): Promise<JsonObject> {
  const [shown, promised] = [
    requirePresent(call.body, 'proof', 'missing_verify_fields'),
    requirePresent(call.body, 'commitment', 'missing_verify_fields'),
  ]
  const proof = readOrRefuse('invalid_input', () => readProof(shown))
  const commitment = readOrRefuse('invalid_input', () => readCapabilityCommitment(promised))
  const keys = readTrustKeys(call.body, 'issuer_public_keys', parts.keys.all)
  const verdict = await verifyDisclosure(proof, commitment, keys)
  const reason = verdict.ok ? 'valid' : verdict.reason
  recordVerification(call, parts, verdict.ok, reason)
  const { warning } = verdict
  const label = warning === undefined ? {} : { warning }
  return { valid: verdict.ok, reason, commitment_id: commitment.record.commitment_id, ...label }
}
