import { Refusal } from '@chancery/contract'
import type { JsonObject } from '@chancery/protocol'
import type { OperatorCall } from '../../auth/operator.ts'
import { findRule } from './queries.ts'
import { readTestRequest } from './requests.ts'
import type { AdmissionState } from './state.ts'
import { verifyEvidence } from './verify-evidence.ts'

/**
 * POST /admin/admission-rules/{rule_id}/test
 * Says whether a rule would admit a token. Nothing is stored, so the token can still be used.
 */
export async function test(call: OperatorCall, parts: AdmissionState): Promise<JsonObject> {
  const rule_id = call.params['rule_id'] ?? ''
  const { evidence, node_public_key } = readTestRequest(call.body, rule_id)
  if ((await findRule(parts.database.read, rule_id)) === undefined) throw new Refusal('admission_rule_not_found')
  const verdict = await verifyEvidence(parts, evidence, node_public_key)
  if (!verdict.ok) return { rule_id, admitted: false, reason: verdict.reason, evidence_digest: verdict.digest }
  const { issuer, subject, digest, rule } = verdict.evidence
  return {
    rule_id,
    admitted: true,
    evidence_issuer: issuer,
    evidence_subject: subject,
    evidence_digest: digest,
    roles: rule.roles,
    max_validity_hours: rule.max_validity_hours,
  }
}
