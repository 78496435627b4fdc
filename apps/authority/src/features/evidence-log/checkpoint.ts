import { CONTENT_TYPES, Refusal } from '@chancery/contract'
import { HttpResponse } from '@chancery/service-kit'
import type { Call } from '@chancery/service-kit'
import type { EvidenceLogParts } from './parts.ts'
import { findLog } from './queries.ts'
import { findCosigned } from './witnesses/queries.ts'

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

/**
 * GET /evidence-log/cosigned-checkpoint
 * Returns the last checkpoint that witnesses cosigned. It may be older than the last one.
 */
export async function cosignedCheckpoint(_call: Call, parts: EvidenceLogParts): Promise<HttpResponse> {
  const note = (await findCosigned(parts.database.read))?.note ?? undefined
  if (note === undefined) throw new Refusal('not_found')
  return new HttpResponse(note, CONTENT_TYPES.note)
}
