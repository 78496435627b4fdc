import { CONTENT_TYPES } from '@chancery/contract'
import { Answer } from '@chancery/service-kit'
import type { OperatorCall } from '../../auth/operator.ts'
import type { Office } from '../../office.ts'
import { readEvidenceHead } from '../../store/evidence-chain.ts'
import { MAX_PAGE, readRun } from './requests.ts'
import { readLines } from './store.ts'

/**
 * GET /admin/evidence/export
 * Stored lines, one per entry. Nothing is parsed or built: a page costs one range of the primary key.
 */
export async function exportLines(call: OperatorCall, office: Office): Promise<Answer> {
  const { after, limit } = readRun(call.query, 'since_sequence', MAX_PAGE)
  const { db } = office.store
  const { removed_through } = await readEvidenceHead(db)
  const rows = await readLines(db, { after: Math.max(after, removed_through), limit })
  return new Answer(rows.map((row) => `${row.line}\n`).join(''), CONTENT_TYPES['json-lines'])
}
