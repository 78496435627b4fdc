import { findPolicyWarnings, isPolicyId } from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import { causedBy, recordAudit } from '../../audit/record.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import type { Office } from '../../office.ts'
import { shorten } from '../../reading.ts'
import { readIntentRequest, toJson } from './requests.ts'
import { lastVersion } from './store.ts'

/**
 * POST /admin/boundary-policies/validate
 * What is wrong with an intent, without signing or storing it.
 */
export async function validate(call: OperatorCall, office: Office): Promise<JsonObject> {
  const { intent, issues } = readIntentRequest(call.body)
  const { policy_id } = intent
  // No stored policy has an id of another form.
  const version = isPolicyId(policy_id) ? (await lastVersion(office.store.db, policy_id)) + 1 : 1
  const issue_codes = [...new Set(issues.map((issue) => issue.code))]
  const details = { policy_id: shorten(policy_id), version, issue_codes, ...causedBy(call) }
  await recordAudit(office.store.db, office, { type: 'boundary_policy_validated', details })
  const warnings = findPolicyWarnings(intent).map((warning) => ({ ...warning }))
  return { valid: issues.length === 0, issues: issues.map(toJson), warnings, policy_id, next_version: version }
}
