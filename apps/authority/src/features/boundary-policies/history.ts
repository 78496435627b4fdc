import { Refusal } from '@chancery/contract'
import { type JsonObject, isPolicyId } from '@chancery/protocol'
import type { OperatorCall } from '../../auth/operator.ts'
import type { BoundaryPoliciesParts } from './parts.ts'
import { readVersions } from './list.ts'
import { lastVersion } from './queries.ts'
import { describeRows } from './view.ts'

/**
 * GET /admin/boundary-policies/{policy_id}/history
 * All versions of one policy with their signed bodies, newest first.
 */
export async function history(call: OperatorCall, parts: BoundaryPoliciesParts): Promise<JsonObject> {
  const policy_id = call.params['policy_id'] ?? ''
  const isKnown = isPolicyId(policy_id) && (await lastVersion(parts.database.read, policy_id)) > 0
  if (!isKnown) throw new Refusal('boundary_policy_not_found')
  const { rows, paging } = await readVersions(call, parts, policy_id)
  return { policy_id, versions: await describeRows(rows, true), ...paging }
}
