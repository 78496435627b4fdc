import { readFileSync } from 'node:fs'
import { open, rename } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Instant, isJsonObject, readInstant, readJson, seconds, writeInstant } from '@chancery/protocol'
import type { Clock, Log, MaybePromise } from '@chancery/service-kit'

/** What is counted for a client in windows of 60 s. */
export type QuotaKind = 'requests' | 'certificates' | 'decisions' | 'tokens' | 'token_decisions'

export interface QuotaClaim {
  readonly clientId: string
  readonly kind: QuotaKind
  readonly limit: number
  readonly cost: number
}

/** A client id has no space, so a node never shares a quota with a client. */
export function quotaNameOf(nodeKey: string): string {
  return `node ${nodeKey}`
}

/** A request proof, or another signed value that may be used once. */
export interface SpentProof {
  /** Node key and nonce. */
  readonly name: string
  readonly created: Instant
}

/** Undefined when granted, otherwise the rest of the window. */
export type QuotaResult = { readonly retryAfterMs: number } | undefined

export type SpendResult = 'replayed' | QuotaResult

/**
 * Counts and checks in one step. A refused claim does not count (protocol/gateway 15). Implementations MUST reject with
 * {@link QuotaUnavailableError} when they could not count: a guess would not be a quota.
 */
export interface Quota {
  claim(claim: QuotaClaim): MaybePromise<QuotaResult>
  /**
   * Counts a request and spends its proof, in one step. A spent proof is found first, so replays use up nothing of the
   * quota of the node; a refused claim spends nothing. Without a claim the request was counted before. Throws when it
   * cannot know whether the proof was spent.
   */
  spend(proof: SpentProof, claim?: QuotaClaim): MaybePromise<SpendResult>
  /** Returns whether it can count now, within a second. */
  probe(): Promise<boolean>
  close(): Promise<void>
}

/** The shared backend did not count. There is no local fallback. */
export class QuotaUnavailableError extends Error {
  override readonly name = 'QuotaUnavailableError'
}

export const WINDOW_MS = 60_000
/** A proof is accepted from 30 s before until 60 s after its time. */
export const PROOF_MS = 120_000
export const MAX_AHEAD: Instant = seconds(30)

/** Clocks of nodes may differ by this. */
const MAX_WAIT_MS = 2000

/**
 * Without a state a restart loses how far ahead accepted proofs were dated. So a proof waits until its time, and one that
 * is dated further ahead gets false.
 */
export async function awaitProofTime(created: Instant, clock: Pick<Clock, 'now'>): Promise<boolean> {
  const aheadMs = Number((created - clock.now()) / 1000n)
  if (aheadMs > MAX_WAIT_MS) return false
  if (aheadMs > 0) await sleep(aheadMs)
  return true
}

/** The mark is written ahead of the proofs, so that one write serves the proofs of some seconds. */
const STEP = seconds(3)

/** Next to the state. Without it the check is closed for the time in which a spent proof could be accepted. */
export function proofMarkFile(stateFile: string): string {
  return `${stateFile}.proofs`
}

/**
 * A time on disk that no accepted proof is after. A process that starts counts all proofs up to it as spent: names are
 * in memory only, and a proof may be dated ahead of the clock.
 */
export class ProofMark {
  readonly #file: string
  #through: Instant
  #writing: Promise<void> | undefined

  private constructor(file: string, through: Instant) {
    this.#file = file
    this.#through = through
  }

  /** A mark that is missing or damaged says nothing, so every proof that could have been accepted counts as spent. */
  static open(file: string, now: Instant, log: Log): ProofMark {
    const stored = readMark(file)
    if (stored === undefined) log.warn('the mark of spent proofs is missing: proofs are refused for 30 s', { file })
    else if (stored > now + MAX_AHEAD)
      log.error('the mark of spent proofs is ahead of the clock: proofs are refused until then', {
        alarm: true,
        accepted_through: writeInstant(stored),
      })
    return new ProofMark(file, stored ?? now + MAX_AHEAD)
  }

  /** Proofs up to this time may have been spent by an earlier process. */
  get through(): Instant {
    return this.#through
  }

  /** Resolves when the mark on disk is not before this time. Only then may a proof of this time be accepted. */
  async cover(created: Instant): Promise<void> {
    while (created > this.#through) {
      this.#writing ??= this.#write(created + STEP).finally(() => {
        this.#writing = undefined
      })
      await this.#writing
    }
  }

  async #write(through: Instant): Promise<void> {
    try {
      await writeProofMark(this.#file, through)
    } catch (error) {
      throw new QuotaUnavailableError('the mark of spent proofs cannot be written', { cause: error })
    }
    this.#through = through
  }
}

function readMark(file: string): Instant | undefined {
  try {
    const mark = readJson(readFileSync(file, 'utf8'))
    const through = isJsonObject(mark) ? mark['accepted_through'] : undefined
    return typeof through === 'string' ? readInstant(through) : undefined
  } catch {
    return undefined
  }
}

/** Replaces the file: after a power cut it has the former or the new time. */
export async function writeProofMark(file: string, through: Instant): Promise<void> {
  const draft = `${file}.new`
  const handle = await open(draft, 'w', 0o600)
  try {
    await handle.writeFile(`${JSON.stringify({ accepted_through: writeInstant(through) })}\n`)
    await handle.sync()
  } finally {
    await handle.close()
  }
  await rename(draft, file)
}
