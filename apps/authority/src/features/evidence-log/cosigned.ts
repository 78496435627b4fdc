import { CONTENT_TYPES, Refusal } from '@chancery/contract'
import { type Call, HttpResponse } from '@chancery/service-kit'
import type { EvidenceLogParts } from './identity.ts'
import { findCosigned } from './witnesses/queries.ts'

/**
 * GET /evidence-log/cosigned-checkpoint
 * Returns the last checkpoint that witnesses cosigned. It may be older than the last one.
 */
export async function cosigned(_call: Call, parts: EvidenceLogParts): Promise<HttpResponse> {
  const note = (await findCosigned(parts.database.read))?.note ?? undefined
  if (note === undefined) throw new Refusal('not_found')
  return new HttpResponse(note, CONTENT_TYPES.note)
}
