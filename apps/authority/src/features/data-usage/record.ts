import { Refusal } from '@chancery/contract'
import { type UsageViolationRecord, asJson, canonicalJson, writeInstant } from '@chancery/protocol'
import { type HttpResponse, jsonText } from '@chancery/service-kit'
import { requestDetails } from '../../audit/record.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import { readAttempt } from '../../requests/idempotency.ts'
import { checkUsage, usageVerdict } from './check-usage.ts'
import type { DataUsageParts } from './parts.ts'

/**
 * POST /admin/data-usage/violations
 * The same check. Violations are stored as one entry of the evidence store before the response; without one nothing
 * is stored.
 */
export async function record(call: OperatorCall, parts: DataUsageParts): Promise<HttpResponse> {
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
