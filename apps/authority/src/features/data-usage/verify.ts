import { readDataAccessIntent, readDataLicensePolicy, verifyDataUsage, writeInstant } from '@chancery/protocol'
import type { DataLicensePolicy, JsonObject } from '@chancery/protocol'
import type { Call } from '@chancery/service-kit'
import type { DataUsageParts } from './parts.ts'
import { ownKeysAt } from '../../signing/own-keys.ts'
import { readOrRefuse, readTrustKeys, requirePresent } from '../../requests/read-fields.ts'
import { recordVerification } from '../../requests/record-verification.ts'

/**
 * POST /data-usage/verify
 * Returns every use of an intent that its license does not allow. Writes nothing.
 */
export async function verify(call: Call, parts: DataUsageParts): Promise<JsonObject> {
  const [declared, license] = [
    requirePresent(call.body, 'intent', 'missing_verify_fields'),
    requirePresent(call.body, 'policy', 'missing_verify_fields'),
  ]
  const intent = readOrRefuse('invalid_input', () => readDataAccessIntent(declared))
  const policy = readOrRefuse('invalid_input', () => readDataLicensePolicy(license))
  const agentKeys = readTrustKeys(call.body, 'agent_public_keys', ownKeysAt(parts.keys, intent.record.declared_at))
  const given = readTrustKeys(call.body, 'policy_public_keys', [])
  const now = parts.clock.now()
  const trust = { agentKeys, policyKeys: policyKeysOf(parts, policy.record, given), now }
  const found = await verifyDataUsage(intent, policy, trust)
  const violations = found.map(({ type, detail }) => ({
    violation_id: parts.ids.uuid(),
    intent_id: intent.record.intent_id,
    record_id: null,
    agent_sovereign_id: intent.record.agent_sovereign_id,
    violation_type: type,
    detail,
    detected_at: writeInstant(now),
  }))
  const reason = found[0]?.type ?? null
  recordVerification(call, parts, reason === null, reason ?? 'valid')
  return { valid: reason === null, violation_reason: reason, violation_count: violations.length, violations }
}

/**
 * The signature must verify with the keys that the caller sends. A policy in our name must also verify with our own
 * key.
 */
function policyKeysOf(
  parts: DataUsageParts,
  policy: DataLicensePolicy,
  given: readonly string[],
): readonly (readonly string[])[] {
  const suppliedKeys = given.length === 0 ? [] : [given]
  const isOwn = policy.licensor_sovereign_id === parts.network.name
  return isOwn ? [...suppliedKeys, parts.keys.all] : suppliedKeys
}
