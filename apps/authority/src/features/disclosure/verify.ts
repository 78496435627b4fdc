import { readCapabilityCommitment, verifyDisclosure } from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import type { Call } from '@chancery/service-kit'
import type { Office } from '../../office.ts'
import { readOr, readTrustKeys, requirePresent } from '../../reading.ts'
import { noteVerdict } from '../verdicts.ts'
import { readProof } from './requests.ts'

/**
 * POST /disclosure/verify
 * Whether a proof shows a capability of a commitment. Writes nothing.
 */
export async function verify(call: Call, office: Office): Promise<JsonObject> {
  const [shown, promised] = [
    requirePresent(call.body, 'proof', 'missing_verify_fields'),
    requirePresent(call.body, 'commitment', 'missing_verify_fields'),
  ]
  const proof = readOr('invalid_input', () => readProof(shown))
  const commitment = readOr('invalid_input', () => readCapabilityCommitment(promised))
  const keys = readTrustKeys(call.body, 'issuer_public_keys', office.ownKeys.all)
  const verdict = await verifyDisclosure(proof, commitment, keys)
  const reason = verdict.ok ? 'valid' : verdict.reason
  noteVerdict(call, office, verdict.ok, reason)
  return { valid: verdict.ok, reason, commitment_id: commitment.record.commitment_id }
}
