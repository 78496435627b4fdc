import { boundaryDecisionForm, readReceived, verifyBoundaryDecision } from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import type { Call } from '@chancery/service-kit'
import type { Office } from '../../office.ts'
import { ownKeysAt } from '../../signing/own-keys.ts'
import { readOr, readTrustKeys, requirePresent } from '../../reading.ts'
import { noteVerdict } from '../verdicts.ts'

/**
 * POST /boundary/verify
 * Whether a decision is genuine and in force, and what it says. Accepted is not permitted: only `authorized` of an
 * accepted decision is. Writes nothing.
 */
export async function verify(call: Call, office: Office): Promise<JsonObject> {
  const given = requirePresent(call.body, 'decision', 'missing_decision')
  const decision = readOr('invalid_decision', () => readReceived(boundaryDecisionForm, given))
  const keys = readTrustKeys(
    call.body,
    'operator_public_keys',
    ownKeysAt(office.ownKeys, decision.record.decision_made_at),
  )
  const { accepted, reason } = await verifyBoundaryDecision(decision, { keys, now: office.clock.now() })
  noteVerdict(call, office, accepted, reason)
  const { authorized, decision_id } = decision.record
  return { accepted, authorized, reason, decision_id }
}
