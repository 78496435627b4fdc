import { type JsonObject, boundaryDecisionForm, readReceived, verifyBoundaryDecision } from '@chancery/protocol'
import type { Call } from '@chancery/service-kit'
import type { BoundaryParts } from './parts.ts'
import { ownKeysAt } from '../../signing/own-keys.ts'
import { readOrRefuse, readTrustKeys, requirePresent } from '../../requests/read-fields.ts'
import { recordVerification } from '../../requests/record-verification.ts'

/**
 * POST /boundary/verify
 * Verifies a decision and returns its content. Accepted does not mean permitted: check `authorized` as well. Writes
 * nothing.
 */
export async function verify(call: Call, parts: BoundaryParts): Promise<JsonObject> {
  const given = requirePresent(call.body, 'decision', 'missing_decision')
  const decision = readOrRefuse('invalid_decision', () => readReceived(boundaryDecisionForm, given))
  const keys = readTrustKeys(call.body, 'operator_public_keys', ownKeysAt(parts.keys, decision.record.decision_made_at))
  const { accepted, reason } = await verifyBoundaryDecision(decision, { keys, now: parts.clock.now() })
  recordVerification(call, parts, accepted, reason)
  const { authorized, decision_id } = decision.record
  return { accepted, authorized, reason, decision_id }
}
