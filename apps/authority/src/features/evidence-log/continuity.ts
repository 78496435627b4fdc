import {
  logOrigin,
  nodesFromTiles,
  openCheckpointByAny,
  readCheckpointText,
  readNote,
  sameBytes,
  treeRoot,
  writeSortable,
} from '@chancery/protocol'
import type { LogCheckpoint, TileReader } from '@chancery/protocol'
import type { Core } from '../../core.ts'
import type { Reader, Transaction } from '../../database/database.ts'
import { TileMissingError, TileWriter } from './tile-writer.ts'
import { type LogState, findLog, storeCheckpoint } from './queries.ts'
import { type ContradictingNote, findProofs } from './witnesses/queries.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'
import { type EvidenceLogParts, signNote } from './identity.ts'

export interface OriginParts {
  readonly network: Pick<Core['network'], 'name'>
  readonly settings: Pick<AuthoritySettings, 'logOrigin'>
}

/** The name that a note states. It counts only with a signature under it. */
export function statedOrigin(note: string): string {
  return readCheckpointText(readNote(note)?.text ?? '')?.origin ?? ''
}

/** The name of the log. It is fixed with the first entry; before that the setting decides. */
export function originOf(state: LogState | undefined, { network, settings }: OriginParts): string {
  if (state !== undefined && state.size > 0) return statedOrigin(state.note)
  return settings.logOrigin ?? logOrigin(network.name)
}

/** Signs the last checkpoint with the current key: the same size and root, so readers see the same log. */
export async function signCheckpointAgain(tx: Transaction, parts: EvidenceLogParts): Promise<void> {
  await tx.lock('evidence-anchors')
  const state = await findLog(tx.query)
  if (state === undefined) return
  const opened = await openCheckpointByAny(state.note, statedOrigin(state.note), parts.keys.all)
  if (opened === undefined) throw new Error('the last checkpoint of the evidence log is not signed by this authority')
  await storeCheckpoint(tx, state.size, await signNote(opened, parts), writeSortable(parts.clock.now()))
}

/** Inputs of the check. */
export interface LogBasis {
  readonly keys: Pick<Core['keys'], 'all'>
  /** Keys of the log; doctor does not read them. */
  readonly logSigners?: readonly { readonly publicKey: string }[]
}

/** Returns why the stored log must not be signed. Undefined when it is as it was signed. */
export async function findLogFault(db: Reader, inputs: LogBasis): Promise<string | undefined> {
  const state = await findLog(db)
  if (state === undefined) return undefined
  const tiles = new TileWriter(db, state.size)
  const readTile: TileReader = (name) => tiles.read(name)
  const fault = await compareWithNote(state, inputs, readTile)
  return fault ?? (await compareWithProofs(await findProofs(db), state, inputs, readTile))
}

/**
 * Computes the root of the last checkpoint again from the tiles that the next one extends. An edited tile would lead to
 * a checkpoint that contradicts the last one, signed by the same key.
 */
export async function compareWithNote(
  { size, note }: LogState,
  { keys }: LogBasis,
  readTile: TileReader,
): Promise<string | undefined> {
  const signed = await openCheckpointByAny(note, statedOrigin(note), keys.all)
  if (signed === undefined) return 'the last checkpoint is not signed by this authority'
  if (signed.size !== size) return 'the last checkpoint has another size than its row'
  return compareRoot(signed, readTile, 'the tiles of the log do not match the root of its last checkpoint')
}

/**
 * Compares the log with checkpoints that witnesses hold and this authority signed. One that is larger, or has another
 * root, proves that the database was rolled back or rewritten: a further checkpoint would be a second history.
 */
export async function compareWithProofs(
  proofs: readonly ContradictingNote[],
  { size, note: current }: LogState,
  { keys, logSigners = [] }: LogBasis,
  readTile: TileReader,
): Promise<string | undefined> {
  const signers = [...keys.all, ...logSigners.map(({ publicKey }) => publicKey)]
  for (const { name, note } of proofs) {
    const signed = await openCheckpointByAny(note, statedOrigin(current), signers)
    if (signed === undefined) continue
    if (signed.size > size)
      return `witness ${name} holds a checkpoint of ${signed.size} entries that this authority signed; the log has ${size}`
    const problem = `the log contradicts the checkpoint of ${signed.size} entries that witness ${name} holds`
    const fault = await compareRoot(signed, readTile, problem)
    if (fault !== undefined) return fault
  }
  return undefined
}

async function compareRoot(
  { size, root }: LogCheckpoint,
  readTile: TileReader,
  problem: string,
): Promise<string | undefined> {
  const found = await readRoot(size, readTile)
  if (found === undefined) return 'a tile of the log is missing'
  return sameBytes(found, root) ? undefined : problem
}

async function readRoot(size: number, readTile: TileReader): Promise<Uint8Array | undefined> {
  try {
    return await treeRoot(size, nodesFromTiles(size, readTile))
  } catch (error) {
    if (error instanceof RangeError || error instanceof TileMissingError) return undefined
    throw error
  }
}
