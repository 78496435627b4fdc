import { Refusal } from '@chancery/contract'
import type { HttpResponse } from '@chancery/service-kit'
import type { OperatorCall } from '../../auth/operator.ts'
import type { EvidenceState } from './state.ts'
import { readEvidenceHead } from './queries/chain.ts'
import { historyResponse } from './history.ts'
import { findRemovedHead } from './queries/lookups.ts'
import { readResourceHistory } from './queries/search.ts'

/**
 * GET /admin/evidence/resources/{resource_id}
 * Returns the lines of one resource from decision to execution, and the verification of these lines. When retention
 * removed all of them, the head is what the latest checkpoint says.
 */
export async function resources(call: OperatorCall, parts: EvidenceState): Promise<HttpResponse> {
  const resource_id = call.params['resource_id'] ?? ''
  const { removed_through } = await readEvidenceHead(parts.database.read)
  const history = await readResourceHistory(parts.database.read, resource_id, removed_through)
  if (history.lines.length > 0) return historyResponse(parts, { resource_id }, history, resource_id)
  const head = await findRemovedHead(parts.database.read, resource_id)
  if (head === undefined) throw new Refusal('resource_not_found')
  return historyResponse(parts, { resource_id, head: { ...head } }, history, resource_id)
}
