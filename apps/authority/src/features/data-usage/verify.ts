import { readDataAccessIntent, readDataLicensePolicy, verifyDataUsage, writeInstant } from '@chancery/protocol'
import type { DataLicensePolicy, JsonObject } from '@chancery/protocol'
import type { Call } from '@chancery/service-kit'
import type { Office } from '../../office.ts'
import { ownKeysAt } from '../../signing/own-keys.ts'
import { readOr, readTrustKeys, requirePresent } from '../../reading.ts'
import { noteVerdict } from '../verdicts.ts'

/**
 * POST /data-usage/verify
 * Everything an intent does that its license does not allow. Writes nothing.
 */
export async function verify(call: Call, office: Office): Promise<JsonObject> {
  const [declared, license] = [
    requirePresent(call.body, 'intent', 'missing_verify_fields'),
    requirePresent(call.body, 'policy', 'missing_verify_fields'),
  ]
  const intent = readOr('invalid_input', () => readDataAccessIntent(declared))
  const policy = readOr('invalid_input', () => readDataLicensePolicy(license))
  const agentKeys = readTrustKeys(call.body, 'agent_public_keys', ownKeysAt(office.ownKeys, intent.record.declared_at))
  const given = readTrustKeys(call.body, 'policy_public_keys', [])
  const now = office.clock.now()
  const ground = { agentKeys, policyKeys: policyKeysOf(office, policy.record, given), now }
  const found = await verifyDataUsage(intent, policy, ground)
  const violations = found.map(({ type, detail }) => ({
    violation_id: office.ids.uuid(),
    intent_id: intent.record.intent_id,
    record_id: null,
    agent_sovereign_id: intent.record.agent_sovereign_id,
    violation_type: type,
    detail,
    detected_at: writeInstant(now),
  }))
  const reason = found[0]?.type ?? null
  noteVerdict(call, office, reason === null, reason ?? 'valid')
  return { valid: reason === null, violation_reason: reason, violation_count: violations.length, violations }
}

/** Keys the caller vouches for must hold, and so must our own where the policy speaks in our name. */
function policyKeysOf(
  office: Office,
  policy: DataLicensePolicy,
  given: readonly string[],
): readonly (readonly string[])[] {
  const vouched = given.length === 0 ? [] : [given]
  const isOwn = policy.licensor_sovereign_id === office.genesis.network_name
  return isOwn ? [...vouched, office.ownKeys.all] : vouched
}
