import type { JsonObject } from '@chancery/protocol'
import type { OperatorCall } from '../../auth/operator.ts'
import { refuseUnknownParameters } from '../../requests/read-fields.ts'
import type { AdmissionParts } from './parts.ts'
import { listRules } from './queries.ts'
import { showRule } from './view.ts'

const MAX_LISTED = 1000

/**
 * GET /admin/admission-rules
 * Lists the rules, those in force first. At most 1000; the rest are the oldest removed ones.
 */
export async function list(call: OperatorCall, parts: AdmissionParts): Promise<JsonObject> {
  refuseUnknownParameters(call.query, [])
  const rows = await listRules(parts.database.read, MAX_LISTED)
  return { count: rows.length, rules: rows.map(showRule) }
}
