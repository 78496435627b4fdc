import { CONTENT_TYPES, Refusal } from '@chancery/contract'
import { HASH_BYTES, readTilePath, widthInTree } from '@chancery/protocol'
import { Answer } from '@chancery/service-kit'
import type { Call } from '@chancery/service-kit'
import type { Office } from '../../office.ts'
import { findLog, findTile } from './store.ts'

/** A tile of a given width never changes, so anyone may keep it for ever. */
const FOR_EVER = { 'Cache-Control': 'public, max-age=31536000, immutable' }

/**
 * GET /evidence-log/tile/{tile}
 * Hashes only: they prove everything and tell nothing. They stay when the entries behind them are removed.
 */
export async function tile(call: Call, office: Office): Promise<Answer> {
  const name = readTilePath(call.params['tile'] ?? '')
  const state = await findLog(office.store.db)
  // What no checkpoint covers yet may still be rolled back.
  if (name === undefined || widthInTree(state?.size ?? 0, name.level, name.tile) < name.width)
    throw new Refusal('not_found')
  const hashes = await findTile(office.store.db, name.level, name.tile)
  if (hashes === undefined || hashes.length < name.width * HASH_BYTES) throw new Refusal('not_found')
  return new Answer(hashes.subarray(0, name.width * HASH_BYTES), CONTENT_TYPES.tile, 200, FOR_EVER)
}
