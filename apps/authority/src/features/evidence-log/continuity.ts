import { logOrigin, nodesFromTiles, openCheckpoint, sameBytes, treeRoot } from '@chancery/protocol'
import type { TileReader } from '@chancery/protocol'
import type { Core } from '../../core.ts'
import type { Reader } from '../../database/database.ts'
import { TileWriter } from './tile-writer.ts'
import { findLog } from './queries.ts'
import type { LogState } from './queries.ts'
import { TileMissing } from './tile-missing.ts'

/** Inputs of the check. */
export interface LogBasis {
  readonly keys: Pick<Core['keys'], 'all'>
  readonly network: Pick<Core['network'], 'name'>
}

/** Returns why the stored log must not be signed. Undefined when it is as it was signed. */
export async function findLogFault(db: Reader, inputs: LogBasis): Promise<string | undefined> {
  const state = await findLog(db)
  if (state === undefined) return undefined
  const tiles = new TileWriter(db, state.size)
  return compareWithNote(state, inputs, (name) => tiles.read(name))
}

/**
 * Computes the root of the last checkpoint again from the tiles that the next one extends. An edited tile would lead to
 * a checkpoint that contradicts the last one, signed by the same key.
 */
export async function compareWithNote(
  { size, note }: LogState,
  { keys, network }: LogBasis,
  readTile: TileReader,
): Promise<string | undefined> {
  const origin = logOrigin(network.name)
  for (const key of keys.all) {
    const signed = await openCheckpoint(note, origin, key)
    if (signed === undefined) continue
    if (signed.size !== size) return 'the last checkpoint has another size than its row'
    const root = await readRoot(size, readTile)
    if (root === undefined) return 'a tile of the log is missing'
    return sameBytes(root, signed.root)
      ? undefined
      : 'the tiles of the log do not match the root of its last checkpoint'
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
