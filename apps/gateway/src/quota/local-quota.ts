import type { Clock, MaybePromise } from '@chancery/service-kit'
import { PROOF_MS, QuotaUnavailableError, WINDOW_MS } from './quota.ts'
import type { ProofMark, Quota, QuotaClaim, QuotaResult, SpendResult, SpentProof } from './quota.ts'
import type { Instant } from '@chancery/protocol'

const MAX_PROOFS = 1_000_000

/**
 * The proofs that this process accepted. An earlier process may have spent proofs up to the given time, so those count
 * as spent. Proofs are removed in two groups, each after the time in which it could be accepted.
 */
export class SpentProofs {
  readonly #clock: Pick<Clock, 'monotonicMs'>
  readonly #maxProofs: number
  /** Proofs up to this time may be spent and removed. So a clock that goes back makes none of them valid again. */
  #floor: Instant
  #earlier: Group
  #recent: Group
  #recentSinceMs: number

  constructor(clock: Pick<Clock, 'monotonicMs' | 'now'>, spentThrough: Instant, maxProofs = MAX_PROOFS) {
    const now = clock.now()
    this.#clock = clock
    this.#maxProofs = maxProofs
    this.#floor = spentThrough > now ? spentThrough : now
    this.#earlier = emptyGroup(this.#floor)
    this.#recent = emptyGroup(this.#floor)
    this.#recentSinceMs = clock.monotonicMs()
  }

  isSpent({ name, created }: SpentProof): boolean {
    this.#removeOld()
    return created <= this.#floor || this.#recent.names.has(name) || this.#earlier.names.has(name)
  }

  /** Throws when it cannot store one more proof. */
  checkRoom(): void {
    if (this.#recent.names.size + this.#earlier.names.size >= this.#maxProofs)
      throw new QuotaUnavailableError('too many request proofs are stored')
  }

  add({ name, created }: SpentProof): void {
    const recent = this.#recent
    recent.names.add(name)
    if (created > recent.latest) recent.latest = created
  }

  #removeOld(): void {
    const now = this.#clock.monotonicMs()
    if (now - this.#recentSinceMs < PROOF_MS) return
    this.#floor = this.#earlier.latest
    this.#earlier = this.#recent
    this.#recent = emptyGroup(this.#earlier.latest)
    this.#recentSinceMs = now
  }
}

interface Group {
  readonly names: Set<string>
  /** Time of the newest proof in this group or before it. */
  latest: Instant
}

function emptyGroup(latest: Instant): Group {
  return { names: new Set(), latest }
}

interface Window {
  readonly openedMs: number
  used: number
}

/** Above this number, windows that have ended are removed. */
const MANY_WINDOWS = 100_000

/**
 * Counts in windows of this process, by client id. A reload does not reset them. There is at most one window per client
 * and kind.
 */
export class LocalQuota implements Quota {
  readonly #clock: Pick<Clock, 'monotonicMs'>
  readonly #windows = new Map<string, Window>()
  readonly #proofs: SpentProofs

  readonly #mark: ProofMark | undefined

  /** Without a mark a restart loses the proofs, and the check takes none that is dated ahead. */
  constructor(clock: Pick<Clock, 'monotonicMs' | 'now'>, mark?: ProofMark) {
    this.#clock = clock
    this.#mark = mark
    this.#proofs = new SpentProofs(clock, mark?.through ?? clock.now())
  }

  claim({ clientId, kind, limit, cost }: QuotaClaim): QuotaResult {
    const now = this.#clock.monotonicMs()
    const key = `${kind} ${clientId}`
    let window = this.#windows.get(key)
    if (window === undefined || now - window.openedMs >= WINDOW_MS) {
      window = { openedMs: now, used: 0 }
      if (this.#windows.size >= MANY_WINDOWS) this.#removeEnded(now)
      this.#windows.set(key, window)
    }
    if (window.used + cost > limit) return { retryAfterMs: window.openedMs + WINDOW_MS - now }
    window.used += cost
    return undefined
  }

  spend(proof: SpentProof, claim?: QuotaClaim): MaybePromise<SpendResult> {
    if (this.#proofs.isSpent(proof)) return 'replayed'
    this.#proofs.checkRoom()
    const refused = claim && this.claim(claim)
    if (refused !== undefined) return refused
    this.#proofs.add(proof)
    return this.#mark === undefined ? undefined : this.#mark.cover(proof.created).then(() => undefined)
  }

  async probe(): Promise<boolean> {
    return true
  }

  async close(): Promise<void> {
    this.#windows.clear()
  }

  #removeEnded(now: number): void {
    for (const [key, { openedMs }] of this.#windows) if (now - openedMs >= WINDOW_MS) this.#windows.delete(key)
  }
}
