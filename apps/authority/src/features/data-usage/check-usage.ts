import { readDataAccessIntent, readDataLicensePolicy, verifyDataUsage, writeInstant } from '@chancery/protocol'
import type {
  DataAccessIntent,
  DataLicensePolicy,
  JsonObject,
  Received,
  UsageTrust,
  UsageViolation,
} from '@chancery/protocol'
import { ownKeysAt } from '../../signing/own-keys.ts'
import { readOrRefuse, readTrustKeys, requirePresent } from '../../requests/read-fields.ts'
import type { DataUsageParts } from './parts.ts'

export interface CheckedUsage {
  readonly intent: Received<DataAccessIntent>
  readonly policy: Received<DataLicensePolicy>
  readonly trust: UsageTrust
  readonly found: readonly (UsageViolation & { readonly violation_id: string })[]
}

/** Reads intent, policy and keys of a body, and finds what the policy does not allow. */
export async function checkUsage(body: JsonObject, parts: DataUsageParts): Promise<CheckedUsage> {
  const [declared, license] = [
    requirePresent(body, 'intent', 'missing_verify_fields'),
    requirePresent(body, 'policy', 'missing_verify_fields'),
  ]
  const intent = readOrRefuse('invalid_input', () => readDataAccessIntent(declared))
  const policy = readOrRefuse('invalid_input', () => readDataLicensePolicy(license))
  const agentKeys = readTrustKeys(body, 'agent_public_keys', ownKeysAt(parts.keys, intent.record.declared_at))
  const given = readTrustKeys(body, 'policy_public_keys', [])
  const trust = { agentKeys, policyKeys: policyKeysOf(parts, policy.record, given), now: parts.clock.now() }
  const found = await verifyDataUsage(intent, policy, trust)
  return { intent, policy, trust, found: found.map((each) => ({ ...each, violation_id: parts.ids.uuid() })) }
}

/** protocol/trust-operations 9.3. */
export function usageVerdict({ intent, trust, found }: CheckedUsage): JsonObject {
  const { intent_id, agent_sovereign_id } = intent.record
  const violations = found.map(({ violation_id, type, detail }) => ({
    violation_id,
    intent_id,
    record_id: null,
    agent_sovereign_id,
    violation_type: type,
    detail,
    detected_at: writeInstant(trust.now),
  }))
  const violation_reason = found[0]?.type ?? null
  return { valid: violation_reason === null, violation_reason, violation_count: violations.length, violations }
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
