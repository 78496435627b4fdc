import { Refusal } from '@chancery/contract'
import type { Answer } from '@chancery/service-kit'
import type { OperatorCall } from '../../auth/operator.ts'
import type { Office } from '../../office.ts'
import { readEvidenceHead } from '../../store/evidence-chain.ts'
import { historyAnswer } from './history.ts'
import { readResourceHistory } from './search-store.ts'

/**
 * GET /admin/evidence/resources/{resource_id}
 * One resource from decision to execution, with what a check of these very lines says.
 */
export async function resources(call: OperatorCall, office: Office): Promise<Answer> {
  const resource_id = call.params['resource_id'] ?? ''
  const { removed_through } = await readEvidenceHead(office.store.db)
  const history = await readResourceHistory(office.store.db, resource_id, removed_through)
  if (history.lines.length === 0) throw new Refusal('resource_not_found')
  return historyAnswer(office, { resource_id }, history, resource_id)
}
