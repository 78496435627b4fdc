import { RecentEntries, isIdentityCurrent, isSignedByAll, signNote, storeIdentity } from './identity.ts'
import type { EvidenceLogParts } from './identity.ts'
import { RecordFault, clearFault } from '../../signing/record-faults.ts'
import { nodesFromTiles, treeRoot, writeSortable } from '@chancery/protocol'
import { faultPoint } from '#faults'
import { requireCurrentKey } from '../../signing/current-key.ts'
import type { Transaction } from '../../database/database.ts'
import { readEvidenceHead } from '../evidence/index.ts'
import { compareWithNote, compareWithProofs, originOf } from './continuity.ts'
import { TileWriter } from './tile-writer.ts'
import { type LogState, findLog, readLeaves, storeCheckpoint } from './queries.ts'
import { findProofs } from './witnesses/queries.ts'

/**
 * Appends entries of the store to the log and signs the new state. Entries are appended in store order, each once: leaf
 * n is the digest of entry n + 1. One instance at a time; the tiles are stored with the checkpoint that covers them.
 */
async function appendToLog(parts: EvidenceLogParts, appended: RecentEntries): Promise<void> {
  // A checkpoint smaller than a published one would appear as a truncated log.
  if (!parts.signing.isAllowed() || parts.rollback.isEvidenceBehind) return
  for (;;) {
    const { isDone, through } = await parts.database.write(async (tx) => {
      await tx.lock('evidence-anchors')
      await requireCurrentKey(tx.query, parts)
      return growOnce(tx, parts, appended)
    })
    appended.drop(through)
    if (isDone) return
  }
}

interface Growth {
  readonly isDone: boolean
  /** The last entry in the log now. */
  readonly through: number
}

async function growOnce(tx: Transaction, parts: EvidenceLogParts, appended: RecentEntries): Promise<Growth> {
  const state = await findLog(tx.query)
  const size = state?.size ?? 0
  const { last_sequence } = await readEvidenceHead(tx.query)
  const origin = originOf(state, parts)
  const isDone = state !== undefined && size >= last_sequence && (await isSigned(tx, parts, state, origin))
  if (isDone && !parts.recordFaults.has('evidenceLog')) return { isDone, through: size }
  const tiles = new TileWriter(tx.query, size)
  const fault = state === undefined ? undefined : await compareWithNote(state, parts, (name) => tiles.read(name))
  if (fault !== undefined) clearFault(parts.recordFaults, 'evidenceLog', fault)
  const proofs = await findProofs(tx.query)
  // With a checkpoint that contradicts the log, nothing is signed before every entry is compared with it.
  do {
    const leaves = await readLeaves(tx.query, { after: tiles.size, last: last_sequence }, appended)
    await tiles.add(leaves.map((digest) => Buffer.from(digest, 'hex')))
  } while (proofs.length > 0 && tiles.size < last_sequence)
  const grown = { size: tiles.size, note: state?.note ?? '' }
  const contradiction = await compareWithProofs(proofs, grown, parts, (name) => tiles.read(name))
  clearFault(parts.recordFaults, 'evidenceLog', contradiction)
  if (isDone) return { isDone, through: size }
  await tiles.write(tx)
  faultPoint('log-tiles-stored')
  const root = await treeRoot(
    tiles.size,
    nodesFromTiles(tiles.size, (name) => tiles.read(name)),
  )
  const note = await signNote({ origin, size: tiles.size, root }, parts)
  await storeIdentity(tx, parts, origin)
  await storeCheckpoint(tx, tiles.size, note, writeSortable(parts.clock.now()))
  faultPoint('log-checkpoint-stored')
  return { isDone: tiles.size >= last_sequence, through: tiles.size }
}

/** Whether the checkpoint and the identity of the log have the current name and keys. */
async function isSigned(
  tx: Transaction,
  parts: EvidenceLogParts,
  { note }: LogState,
  origin: string,
): Promise<boolean> {
  return (await isSignedByAll(note, origin, parts)) && (await isIdentityCurrent(tx.query, parts, origin))
}

/** How long entries are collected before the log is signed again. */
const GATHER_MS = 1000

/** Extends the log after entries were appended. Appends do not wait for it. */
export class LogWriter {
  /** Entries that this process appended and the log may lack. */
  readonly appended = new RecentEntries()
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> | undefined
  #isClosed = false

  schedule(parts: EvidenceLogParts): void {
    if (this.#isClosed || this.#timer !== undefined || !parts.isServing()) return
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      void this.#run(parts)
    }, GATHER_MS)
    this.#timer.unref()
  }

  /** Runs now, until the log has all entries. */
  async grow(parts: EvidenceLogParts): Promise<void> {
    await appendToLog(parts, this.appended)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    await this.#running
  }

  /** After a failure the next entry tries again, and the job within a minute. */
  async #run(parts: EvidenceLogParts): Promise<void> {
    this.#running ??= this.grow(parts)
      .catch((error: unknown) => {
        // A fault of its rows has already been reported once.
        if (!(error instanceof RecordFault)) parts.log.error('cannot extend the evidence log', { error })
      })
      .finally(() => {
        this.#running = undefined
      })
    await this.#running
  }
}
