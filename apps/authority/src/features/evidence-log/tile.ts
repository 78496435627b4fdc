import { CONTENT_TYPES, Refusal } from '@chancery/contract'
import { HASH_BYTES, TILE_WIDTH, readIndexPath, readTilePath, widthInTree } from '@chancery/protocol'
import { type Call, HttpResponse } from '@chancery/service-kit'
import type { EvidenceLogParts } from './identity.ts'
import { findLog, findTile, readDigests } from './queries.ts'

/** A tile of a given width never changes, so it can be cached permanently. */
const FOR_EVER = { 'Cache-Control': 'public, max-age=31536000, immutable' }

const ENTRIES = 'entries/'

/**
 * GET /evidence-log/tile/{tile}
 * Returns hashes only. They are proofs without content. They stay when retention removes the entries.
 */
export async function tile(call: Call, parts: EvidenceLogParts): Promise<HttpResponse> {
  const path = call.params['tile'] ?? ''
  if (path.startsWith(ENTRIES)) return entryTile(path.slice(ENTRIES.length), parts)
  const name = readTilePath(path)
  const state = await findLog(parts.database.read)
  // Hashes that no checkpoint covers yet may still be rolled back.
  if (name === undefined || widthInTree(state?.size ?? 0, name.level, name.tile) < name.width)
    throw new Refusal('not_found')
  const hashes = await findTile(parts.database.read, name.level, name.tile)
  if (hashes === undefined || hashes.length < name.width * HASH_BYTES) throw new Refusal('not_found')
  return new HttpResponse(hashes.subarray(0, name.width * HASH_BYTES), CONTENT_TYPES.tile, 200, FOR_EVER)
}

/**
 * The entries of the log are the digests of the envelopes, each after its length in two bytes (C2SP tlog-tiles). They
 * show nothing of the envelopes. Those of removed entries are gone.
 */
async function entryTile(path: string, parts: EvidenceLogParts): Promise<HttpResponse> {
  const name = readIndexPath(path)
  const state = await findLog(parts.database.read)
  if (name === undefined || widthInTree(state?.size ?? 0, 0, name.tile) < name.width) throw new Refusal('not_found')
  const digests = await readDigests(parts.database.read, name.tile * TILE_WIDTH + 1, name.width)
  if (digests.length < name.width) throw new Refusal('not_found')
  const length = Uint8Array.of(0, HASH_BYTES)
  const bytes = Buffer.concat(digests.flatMap((digest) => [length, Buffer.from(digest, 'hex')]))
  return new HttpResponse(bytes, CONTENT_TYPES.tile, 200, FOR_EVER)
}
