import { readConsensusProof, verifyConsensusProof } from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import type { Call } from '@chancery/service-kit'
import type { Office } from '../../office.ts'
import { readOr, readTrustKeys, requirePresent } from '../../reading.ts'
import { noteVerdict } from '../verdicts.ts'
import { readValidatorKeys } from './requests.ts'

/**
 * POST /consensus/verify
 * Whether enough independent validators approved, under the keys the caller knows them by. Writes nothing.
 */
export async function verify(call: Call, office: Office): Promise<JsonObject> {
  const presented = requirePresent(call.body, 'proof', 'missing_proof')
  const proof = readOr('invalid_proof', () => readConsensusProof(presented))
  const validatorKeys = readValidatorKeys(call.body)
  const assemblerKeys = readTrustKeys(call.body, 'assembler_public_keys', [office.signer.publicKey])
  const verdict = await verifyConsensusProof(proof, { assemblerKeys, validatorKeys, now: office.clock.now() })
  const reason = verdict.ok ? 'valid' : verdict.reason
  noteVerdict(call, office, verdict.ok, reason)
  return { valid: verdict.ok, reason, consensus_id: proof.record.consensus_id }
}
