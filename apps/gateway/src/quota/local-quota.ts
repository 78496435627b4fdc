import type { Clock, MaybePromise } from '@chancery/service-kit'
import type { ProofMark } from './proof-mark.ts'
import { type Quota, type QuotaClaim, type QuotaResult, type SpendResult, type SpentProof, WINDOW_MS } from './quota.ts'
import { SpentProofs } from './spent-proofs.ts'

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

  spend(proof: SpentProof, claim: QuotaClaim): MaybePromise<SpendResult> {
    if (this.#proofs.isSpent(proof)) return 'replayed'
    this.#proofs.checkRoom()
    const refused = this.claim(claim)
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
