import type { Clock } from '@chancery/service-kit'
import { WINDOW_MS } from './quota.ts'
import type { Quota, QuotaResult, QuotaClaim, SpentProof } from './quota.ts'
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

  constructor(clock: Pick<Clock, 'monotonicMs' | 'now'>) {
    this.#clock = clock
    this.#proofs = new SpentProofs(clock)
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

  spend(proof: SpentProof): boolean {
    return this.#proofs.spend(proof)
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
