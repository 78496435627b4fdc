import type { Clock } from '@chancery/service-kit'
import { WINDOW_MS } from './quota.ts'
import type { Quota, QuotaResult, QuotaClaim } from './quota.ts'

interface Window {
  readonly openedMs: number
  used: number
}

/**
 * Counts in windows of this process, by client id. A reload does not reset them. There is at most one window per client
 * and kind.
 */
export class LocalQuota implements Quota {
  readonly #clock: Pick<Clock, 'monotonicMs'>
  readonly #windows = new Map<string, Window>()

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock
  }

  claim({ clientId, kind, limit, cost }: QuotaClaim): QuotaResult {
    const now = this.#clock.monotonicMs()
    const key = `${kind} ${clientId}`
    let window = this.#windows.get(key)
    if (window === undefined || now - window.openedMs >= WINDOW_MS) {
      window = { openedMs: now, used: 0 }
      this.#windows.set(key, window)
    }
    if (window.used + cost > limit) return { retryAfterMs: window.openedMs + WINDOW_MS - now }
    window.used += cost
    return undefined
  }

  async probe(): Promise<boolean> {
    return true
  }

  async close(): Promise<void> {
    this.#windows.clear()
  }
}
