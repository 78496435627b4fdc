import { Refusal } from '@chancery/contract'
import type { HttpResponse } from '@chancery/service-kit'
import type { OperatorCall } from '../../auth/operator.ts'
import type { EvidenceState } from './state.ts'
import { readEvidenceHead } from './queries/chain.ts'
import { historyResponse } from './history.ts'
import { readResourceHistory } from './queries/search.ts'

/**
 * GET /admin/evidence/resources/{resource_id}
 * Returns the lines of one resource from decision to execution, and the verification of these lines.
 */
export async function resources(call: OperatorCall, parts: EvidenceState): Promise<HttpResponse> {
  const resource_id = call.params['resource_id'] ?? ''
  const { removed_through } = await readEvidenceHead(parts.database.read)
  const history = await readResourceHistory(parts.database.read, resource_id, removed_through)
  if (history.lines.length === 0) throw new Refusal('resource_not_found')
  return historyResponse(parts, { resource_id }, history, resource_id)
}
