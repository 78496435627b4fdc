import { CONTENT_TYPES, Refusal } from '@chancery/contract'
import { type Call, HttpResponse } from '@chancery/service-kit'
import type { EvidenceLogParts } from './identity.ts'
import { findLog } from './queries.ts'

/**
 * GET /evidence-log/checkpoint
 * Returns the signed checkpoint. A saved copy can later prove that entries were rewritten.
 */
export async function checkpoint(_call: Call, parts: EvidenceLogParts): Promise<HttpResponse> {
  const state = await findLog(parts.database.read)
  // Only in the first seconds of a store: the first checkpoint covers nothing.
  if (state === undefined) throw new Refusal('not_found')
  return new HttpResponse(state.note, CONTENT_TYPES.note)
}
