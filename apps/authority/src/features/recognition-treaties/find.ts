import { Refusal, SECURITY_HEADERS } from '@chancery/contract'
import { toUtf8 } from '@chancery/protocol'
import { CachedDocument, type Call } from '@chancery/service-kit'
import type { RecognitionTreatiesParts } from './parts.ts'
import { findTreaty } from './queries.ts'
import { rowText } from './view.ts'

/**
 * GET /recognition-treaties/{treaty_id}
 * Returns the signed record and its state.
 */
export async function find(call: Call, parts: RecognitionTreatiesParts): Promise<CachedDocument> {
  const row = await findTreaty(parts.database, call.params['treaty_id'] ?? '')
  if (row === undefined) throw new Refusal('treaty_not_found')
  return new CachedDocument(toUtf8(rowText(row, parts.clock.now())), SECURITY_HEADERS['Cache-Control'])
}
