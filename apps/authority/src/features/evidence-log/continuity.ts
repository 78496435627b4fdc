import { logOrigin, nodesFromTiles, openCheckpoint, sameBytes, treeRoot } from '@chancery/protocol'
import type { TileReader } from '@chancery/protocol'
import type { Core } from '../../core.ts'
import type { Tx } from '../../database/database.ts'
import { TileWriter } from './tile-writer.ts'
import { findLog } from './queries.ts'
import type { LogState } from './queries.ts'
import { TileMissing } from './tile-missing.ts'

/** What a check needs; the doctor has nothing else. */
export interface LogBasis {
  readonly ownKeys: Pick<Core['ownKeys'], 'all'>
  readonly genesis: Pick<Core['genesis'], 'network_name'>
}

/** Why nothing may be signed on the log as it is stored, in words; undefined when it is as it was signed. */
export async function findLogFault(db: Tx, ground: LogBasis): Promise<string | undefined> {
  const state = await findLog(db)
  if (state === undefined) return undefined
  const tiles = new TileWriter(db, state.size)
  return compareWithNote(state, ground, (name) => tiles.read(name))
}

/**
 * The root of the last checkpoint, computed once more from the tiles that the next one grows from: an edited tile would
 * give a checkpoint that contradicts the last, signed by the same key.
 */
export async function compareWithNote(
  { size, note }: LogState,
  { ownKeys, genesis }: LogBasis,
  readTile: TileReader,
): Promise<string | undefined> {
  const origin = logOrigin(genesis.network_name)
  for (const key of ownKeys.all) {
    const signed = await openCheckpoint(note, origin, key)
    if (signed === undefined) continue
    if (signed.size !== size) return 'the last checkpoint is stored under another size'
    const root = await readRoot(size, readTile)
    if (root === undefined) return 'a tile of the log is missing'
    return sameBytes(root, signed.root) ? undefined : 'the tiles of the log do not give the root of its last checkpoint'
  }
  return 'the last checkpoint is not signed by this authority'
}

async function readRoot(size: number, readTile: TileReader): Promise<Uint8Array | undefined> {
  try {
    return await treeRoot(size, nodesFromTiles(size, readTile))
  } catch (error) {
    if (error instanceof RangeError || error instanceof TileMissing) return undefined
    throw error
  }
}
