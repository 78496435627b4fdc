import { Refusal } from '@chancery/contract'
import type { HttpResponse } from '@chancery/service-kit'
import type { OperatorCall } from '../../auth/operator.ts'
import type { EvidenceState } from './state.ts'
import { readEvidenceHead } from './queries/chain.ts'
import { historyResponse } from './history.ts'
import { readVendorHistory } from './queries/search.ts'

/**
 * GET /admin/evidence/vendors/{vendor_id}
 * Returns the decisions about a vendor and their executions, and the verification of these lines.
 */
export async function vendors(call: OperatorCall, parts: EvidenceState): Promise<HttpResponse> {
  const vendor_id = call.params['vendor_id'] ?? ''
  const { removed_through } = await readEvidenceHead(parts.database.read)
  const history = await readVendorHistory(parts.database.read, vendor_id, removed_through)
  if (history.lines.length === 0) throw new Refusal('vendor_not_found')
  return historyResponse(parts, { vendor_id }, history)
}
