import { readInstant, writeInstant } from '@chancery/protocol'
import type { Instant } from '@chancery/protocol'
import { Coalesced } from '@chancery/service-kit'
import type { Clock, Log } from '@chancery/service-kit'
import type { Store } from '../store/database.ts'
import { findRollback, readHeads } from '../store/high-water-heads.ts'
import type { Heads } from '../store/high-water-heads.ts'
import type { SigningHalt } from './halts.ts'
import { readMark, writeMark } from './high-water.ts'
import type { HighWater } from './high-water.ts'
import type { AuthoritySigner } from './signer.ts'

const WRITE_EVERY_MS = 60_000

export interface RollbackWatchParts {
  readonly store: Store
  readonly signer: AuthoritySigner
  readonly networkName: string
  readonly clock: Clock
  readonly log: Log
  /** NA_HIGH_WATER_FILES: the same mark in each. */
  readonly files: readonly string[]
}

/**
 * Notices a database that lies behind what this authority has already said (reliability 12): a restored backup, a
 * standby that was promoted without the last commits. Until an operator recovers, nothing is signed and nobody served.
 */
export class RollbackWatch implements SigningHalt {
  readonly reason = 'state_rollback'
  readonly #parts: RollbackWatchParts
  readonly #checks: Coalesced<Heads>
  /** One at a time: an older mark must not come after a newer one. */
  readonly #keeps: Coalesced<void>
  #mark: HighWater | undefined
  #below: readonly string[] = []
  #isEvidenceBehind = false
  #isSuspect = true
  #losses = 0
  #replayFloor: Instant = 0n
  #writtenAt = Number.NEGATIVE_INFINITY
  #written = ''

  constructor(parts: RollbackWatchParts) {
    this.#parts = parts
    this.#checks = new Coalesced(() => this.#compare())
    this.#keeps = new Coalesced(() => this.#write())
    // Another server may answer after a connection was lost: asked again before anybody relies on it.
    parts.store.onConnectionLost(() => {
      this.#losses += 1
      this.#isSuspect = true
    })
  }

  /** Signed timestamps up to here are refused: what had been spent after the backup is no longer known. */
  get replayFloor(): Instant {
    return this.#replayFloor
  }

  /** The highest mark of all places. */
  get mark(): HighWater | undefined {
    return this.#mark
  }

  isHalted(): boolean {
    return this.#below.length > 0
  }

  /** Evidence that was acknowledged is missing: its numbers must not be given out a second time. */
  get isEvidenceBehind(): boolean {
    return this.#isEvidenceBehind
  }

  /** Reads what was kept outside, then compares. A file that is not a mark of ours stops the start. */
  async open(): Promise<void> {
    const { files, signer, log } = this.#parts
    for (const file of files) {
      const mark = await readMark(file, signer.publicKey)
      if (mark === undefined) log.info('no high-water mark is kept here yet', { file })
      else if (this.#mark === undefined || rankOf(mark) > rankOf(this.#mark)) this.#mark = mark
    }
    await this.#checks.read()
  }

  /** True from a lost connection to the end of the next comparison. */
  get isSuspect(): boolean {
    return this.#isSuspect
  }

  /** Compares; rejects while the database does not answer. */
  async settle(): Promise<void> {
    await this.#checks.read()
  }

  /** Compares, and keeps the mark up to date: at once after a change, and every minute. */
  async keep(): Promise<void> {
    await this.#keeps.read()
  }

  async #write(): Promise<void> {
    const { clock, store, signer, networkName, files } = this.#parts
    // The stamps are cheap to read; a list may be megabytes.
    const stamps = JSON.stringify([...(await store.readStamps()).versions])
    if (stamps === this.#written && clock.monotonicMs() - this.#writtenAt < WRITE_EVERY_MS) return
    const heads = await this.#checks.read()
    if (this.isHalted() || files.length === 0) return
    const evidence = this.#isEvidenceBehind ? (this.#mark?.evidence ?? null) : heads.evidence
    const written_at = writeInstant(clock.now())
    const mark = { mark_version: 1, network_name: networkName, written_at, ...heads, evidence } as const
    for (const file of files) await writeMark(file, mark, signer)
    this.#mark = mark
    this.#written = stamps
    this.#writtenAt = clock.monotonicMs()
  }

  /** Closed on its own: the rest of the authority does not depend on evidence that is missing. */
  #closeEvidence(isBehind: boolean): void {
    if (isBehind && !this.#isEvidenceBehind)
      this.#parts.log.error('evidence that was acknowledged is missing: its store is closed', { alarm: true })
    this.#isEvidenceBehind = isBehind
  }

  async #compare(): Promise<Heads> {
    const { store, log } = this.#parts
    const losses = this.#losses
    const heads = await readHeads(store.db)
    const found = this.#mark === undefined ? [] : await findRollback(store.db, heads, this.#mark)
    const below = found.filter((name) => name !== 'evidence')
    this.#closeEvidence(found.includes('evidence'))
    this.#replayFloor = await readReplayFloor(store)
    if (below.length > 0 && this.#below.length === 0)
      log.error('the database is behind what was already published: chancery authority recover', {
        alarm: true,
        behind: below.join(', '),
      })
    if (below.length === 0 && this.#below.length > 0) log.info('the database is at the mark again')
    this.#below = below
    // Lost once more meanwhile: the next who asks compares again.
    if (losses === this.#losses) this.#isSuspect = false
    return heads
  }
}

/** A later recovery never lowers the floor of an earlier one. */
async function readReplayFloor(store: Store): Promise<Instant> {
  const row = await store.db
    .selectFrom('recoveries')
    .select((eb) => eb.fn.max('replay_floor').as('floor'))
    .executeTakeFirst()
  return readInstant(row?.floor ?? '') ?? 0n
}

/** Of marks of one authority the one written last is the highest. */
function rankOf(mark: HighWater): Instant {
  return readInstant(mark.written_at) ?? 0n
}
