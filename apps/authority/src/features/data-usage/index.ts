import { Refusal, dataUsage } from '@chancery/contract'
import {
  asJson,
  canonicalJson,
  readDataAccessIntent,
  readDataLicensePolicy,
  verifyDataUsage,
  writeInstant,
} from '@chancery/protocol'
import type {
  DataAccessIntent,
  DataLicensePolicy,
  JsonObject,
  Received,
  UsageTrust,
  UsageViolation,
  UsageViolationRecord,
} from '@chancery/protocol'
import { type Call, type HttpResponse, jsonText } from '@chancery/service-kit'
import { requestDetails } from '../../audit/record.ts'
import { bind } from '../../auth/access.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import type { Feature, FeatureBase } from '../../core.ts'
import { readAttempt } from '../../requests/idempotency.ts'
import { readOrRefuse, readTrustKeys, recordVerification, requirePresent } from '../../requests/read-fields.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'
import { ownKeysAt } from '../../signing/own-keys.ts'
import type { Evidence } from '../evidence/index.ts'
import { declareIntent, publish, readLicensee } from './publish.ts'
import { findLicense } from './queries.ts'

interface DataUsageParts extends FeatureBase {
  readonly evidence: Pick<Evidence, 'recordViolation'>
  readonly settings: Pick<AuthoritySettings, 'evidenceStore'>
}

interface CheckedUsage {
  readonly intent: Received<DataAccessIntent>
  readonly policy: Received<DataLicensePolicy>
  readonly trust: UsageTrust
  readonly found: readonly (UsageViolation & { readonly violation_id: string })[]
}

/** Reads intent, policy and keys of a body, and finds what the policy does not allow. */
async function checkUsage(body: JsonObject, parts: DataUsageParts): Promise<CheckedUsage> {
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
function usageVerdict({ intent, trust, found }: CheckedUsage): JsonObject {
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

/**
 * POST /admin/data-usage/violations
 * The same check. Violations are stored as one entry of the evidence store before the response; without one nothing
 * is stored.
 */
async function record(call: OperatorCall, parts: DataUsageParts): Promise<HttpResponse> {
  if (!parts.settings.evidenceStore) throw new Refusal('evidence_store_disabled')
  const attempt = readAttempt(call, parts.clock.now())
  const checked = await checkUsage(call.body, parts)
  const { intent, policy, trust, found } = checked
  const verdict = usageVerdict(checked)
  const [first] = found
  if (first === undefined) return jsonText(canonicalJson({ ...verdict, entry: null, entry_digest: null }), 200)
  const made: UsageViolationRecord = {
    detected_at: writeInstant(trust.now),
    recorded_by: call.operator.key_id,
    violations: found.map(({ violation_id, type, detail }) => ({ violation_id, violation_type: type, detail })),
    intent: intent.wire,
    policy: policy.wire,
    agent_keys: trust.agentKeys,
    policy_keys: trust.policyKeys,
  }
  const details = {
    intent_id: intent.record.intent_id,
    policy_id: policy.record.policy_id,
    violation_reason: first.type,
    violation_count: found.length,
    ...requestDetails(call),
  }
  const { status, text } = await parts.evidence.recordViolation({
    payload: canonicalJson(asJson(made)),
    operator: call.operator.key_id,
    verdict,
    details,
    attempt,
  })
  return jsonText(text, status)
}

/**
 * GET /data-usage/policy
 * Returns a data license policy in force, as it was signed: that of the named licensee, or else the newest.
 */
async function current(call: Call, parts: DataUsageParts): Promise<HttpResponse> {
  const text = await findLicense(parts.database.read, readLicensee(call.query))
  if (text === undefined) throw new Refusal('no_policy')
  return jsonText(text)
}

/**
 * POST /data-usage/verify
 * Returns every use of an intent that its license does not allow. Writes nothing.
 */
async function verify(call: Call, parts: DataUsageParts): Promise<JsonObject> {
  const checked = await checkUsage(call.body, parts)
  const reason = checked.found[0]?.type
  recordVerification(call, parts, reason === undefined, reason ?? 'valid')
  return usageVerdict(checked)
}

export function openDataUsage(parts: DataUsageParts): Feature {
  return {
    routes: [
      bind(dataUsage.publish, (call) => publish(call, parts)),
      bind(dataUsage.intent, (call) => declareIntent(call, parts)),
      bind(dataUsage.record, (call) => record(call, parts)),
      bind(dataUsage.current, (call) => current(call, parts)),
      bind(dataUsage.verify, (call) => verify(call, parts)),
    ],
    jobs: [],
    close: () => Promise.resolve(),
  }
}
