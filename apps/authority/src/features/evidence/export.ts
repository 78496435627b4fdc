import { CONTENT_TYPES } from '@chancery/contract'
import { Answer } from '@chancery/service-kit'
import type { OperatorCall } from '../../auth/operator.ts'
import type { Office } from '../../office.ts'
import { readExport } from './export-store.ts'
import { MAX_PAGE, readRun } from './requests.ts'

/**
 * GET /admin/evidence/export
 * Stored lines, one per entry. Nothing is parsed or built: a page costs one range of the primary key.
 */
export async function exportLines(call: OperatorCall, office: Office): Promise<Answer> {
  const run = readRun(call.query, 'since_sequence', MAX_PAGE)
  return new Answer(await readExport(office.store, run), CONTENT_TYPES['json-lines'])
}
