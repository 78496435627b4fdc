import { CONTENT_TYPES, Refusal } from '@chancery/contract'
import { HASH_BYTES, readTilePath, widthInTree } from '@chancery/protocol'
import { HttpResponse } from '@chancery/service-kit'
import type { Call } from '@chancery/service-kit'
import type { EvidenceLogParts } from './parts.ts'
import { findLog, findTile } from './queries.ts'

/** A tile of a given width never changes, so it can be cached permanently. */
const FOR_EVER = { 'Cache-Control': 'public, max-age=31536000, immutable' }

/**
 * GET /evidence-log/tile/{tile}
 * Returns hashes only. They are proofs without content. They stay when retention removes the entries.
 */
export async function tile(call: Call, parts: EvidenceLogParts): Promise<HttpResponse> {
  const name = readTilePath(call.params['tile'] ?? '')
  const state = await findLog(parts.database.read)
  // Hashes that no checkpoint covers yet may still be rolled back.
  if (name === undefined || widthInTree(state?.size ?? 0, name.level, name.tile) < name.width)
    throw new Refusal('not_found')
  const hashes = await findTile(parts.database.read, name.level, name.tile)
  if (hashes === undefined || hashes.length < name.width * HASH_BYTES) throw new Refusal('not_found')
  return new HttpResponse(hashes.subarray(0, name.width * HASH_BYTES), CONTENT_TYPES.tile, 200, FOR_EVER)
}
