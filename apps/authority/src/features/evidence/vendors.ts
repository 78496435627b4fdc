import { Refusal } from '@chancery/contract'
import type { Answer } from '@chancery/service-kit'
import type { OperatorCall } from '../../auth/operator.ts'
import type { Office } from '../../office.ts'
import { readEvidenceHead } from '../../store/evidence-chain.ts'
import { historyAnswer } from './history.ts'
import { readVendorHistory } from './search-store.ts'

/**
 * GET /admin/evidence/vendors/{vendor_id}
 * What was decided about a vendor and done on it, with what a check of these very lines says.
 */
export async function vendors(call: OperatorCall, office: Office): Promise<Answer> {
  const vendor_id = call.params['vendor_id'] ?? ''
  const { removed_through } = await readEvidenceHead(office.store.db)
  const history = await readVendorHistory(office.store.db, vendor_id, removed_through)
  if (history.lines.length === 0) throw new Refusal('vendor_not_found')
  return historyAnswer(office, { vendor_id }, history)
}
