import { CONTENT_TYPES } from '@chancery/contract'
import type { HttpResponse } from '@chancery/service-kit'
import type { OperatorCall } from '../../auth/operator.ts'
import { readExport } from './queries/export.ts'
import { MAX_PAGE, readRun } from './requests.ts'
import type { EvidenceState } from './resources.ts'

/**
 * GET /admin/evidence/export
 * Returns stored lines, one per entry, without parsing. A page reads one range of the primary key. It is compressed for
 * a reader that asks for it.
 */
export async function exportLines(call: OperatorCall, parts: EvidenceState): Promise<HttpResponse> {
  const run = readRun(call.query, 'since_sequence', MAX_PAGE)
  const page = await readExport(parts.database, run)
  return parts.exportPages.respond(page, CONTENT_TYPES['json-lines'], call.headers.all('accept-encoding').join(','))
}
