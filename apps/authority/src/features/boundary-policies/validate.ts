import { type JsonObject, findPolicyWarnings, isPolicyId } from '@chancery/protocol'
import { requestDetails } from '../../audit/record.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import type { BoundaryPoliciesState } from './state.ts'
import { shorten } from '../../requests/read-fields.ts'
import { checkWithEngines } from './check-engines.ts'
import { readIntentRequest, toJson } from './requests.ts'
import { lastVersion } from './queries.ts'

/**
 * POST /admin/boundary-policies/validate
 * Returns the issues of an intent. Signs and stores nothing.
 */
export async function validate(call: OperatorCall, parts: BoundaryPoliciesState): Promise<JsonObject> {
  const { intent, issues } = await checkWithEngines(readIntentRequest(call.body), parts.engines, call)
  const { policy_id } = intent
  // No stored policy has an id of another form.
  const version = isPolicyId(policy_id) ? (await lastVersion(parts.database.read, policy_id)) + 1 : 1
  const issue_codes = [...new Set(issues.map((issue) => issue.code))]
  const details = { policy_id: shorten(policy_id), version, issue_codes, ...requestDetails(call) }
  await parts.audit.recordAlone([{ type: 'boundary_policy_validated', details }])
  const warnings = findPolicyWarnings(intent).map((warning) => ({ ...warning }))
  return { valid: issues.length === 0, issues: issues.map(toJson), warnings, policy_id, next_version: version }
}
