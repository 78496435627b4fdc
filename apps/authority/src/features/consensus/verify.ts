import { setImmediate } from 'node:timers/promises'
import { type JsonObject, readConsensusProof, verifyConsensusProof } from '@chancery/protocol'
import type { Call } from '@chancery/service-kit'
import type { ConsensusParts } from './trust-justification.ts'
import { ownKeysAt } from '../../signing/own-keys.ts'
import { readOrRefuse, readTrustKeys, recordVerification, requirePresent } from '../../requests/read-fields.ts'
import { readValidatorKeys } from './requests.ts'

const MANY_VOTES = 64

/**
 * POST /consensus/verify
 * Verifies that enough independent validators approved, with the keys that the caller sends. Writes nothing.
 */
export async function verify(call: Call, parts: ConsensusParts): Promise<JsonObject> {
  const presented = requirePresent(call.body, 'proof', 'missing_proof')
  const proof = readOrRefuse('invalid_proof', () => readConsensusProof(presented))
  const validatorKeys = readValidatorKeys(call.body)
  const assemblerKeys = readTrustKeys(
    call.body,
    'assembler_public_keys',
    ownKeysAt(parts.keys, proof.record.reached_at),
  )
  // Reading a thousand votes and building their signed bytes are two long steps. The event loop continues in between.
  if (proof.record.votes.length > MANY_VOTES) await setImmediate()
  const verdict = await verifyConsensusProof(proof, { assemblerKeys, validatorKeys, now: parts.clock.now() })
  const reason = verdict.ok ? 'valid' : verdict.reason
  recordVerification(call, parts, verdict.ok, reason)
  return { valid: verdict.ok, reason, consensus_id: proof.record.consensus_id }
}
