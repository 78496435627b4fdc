import { CONTENT_TYPES } from '@chancery/contract'
import { HttpResponse } from '@chancery/service-kit'
import type { OperatorCall } from '../../auth/operator.ts'
import type { EvidenceParts } from './parts.ts'
import { readExport } from './queries/export.ts'
import { MAX_PAGE, readRun } from './requests.ts'

/**
 * GET /admin/evidence/export
 * Returns stored lines, one per entry, without parsing. A page reads one range of the primary key.
 */
export async function exportLines(call: OperatorCall, parts: EvidenceParts): Promise<HttpResponse> {
  const run = readRun(call.query, 'since_sequence', MAX_PAGE)
  return new HttpResponse(await readExport(parts.database, run), CONTENT_TYPES['json-lines'])
}
