import type { Instant } from '@chancery/protocol'
import { Endpoints } from './endpoints.ts'
import type { CallerParts } from './call.ts'
import type { RetryOptions } from './retry.ts'
import { systemClock } from './system-clock.ts'
import type { Fetch } from './transport.ts'

/** How a service is reached, whether it is an authority or a gateway. */
export interface ConnectionOptions {
  /**
   * Base address, for example https://na.example.org, or those of its instances: one is in use at a time, and an
   * instance that fails is left for the next.
   */
  readonly url: string | readonly string[]
  readonly fetch?: Fetch
  /** Wall time for signed timestamps. */
  readonly clock?: () => Instant
  /** For each attempt, from connecting to the last byte; 15 s when not given. */
  readonly timeoutMs?: number
  /** For a whole call with its attempts and pauses; two minutes when not given. */
  readonly budgetMs?: number
  /** Of an answer, as sent and decoded; 64 MiB when not given, which is a revocation list of about 450,000 entries. */
  readonly maxResponseBytes?: number
  readonly retry?: RetryOptions | false
}

const DEFAULTS = { timeoutMs: 15_000, budgetMs: 120_000, maxResponseBytes: 67_108_864 } as const

export function toCallerParts(options: ConnectionOptions): Omit<CallerParts, 'sign' | 'headers'> {
  return {
    endpoints: new Endpoints(options.url),
    budgetMs: options.budgetMs ?? DEFAULTS.budgetMs,
    transport: {
      // Looked up at the call: browsers refuse a fetch that lost its window.
      fetch: options.fetch ?? ((url, init) => globalThis.fetch(url, init)),
      timeoutMs: options.timeoutMs ?? DEFAULTS.timeoutMs,
      maxResponseBytes: options.maxResponseBytes ?? DEFAULTS.maxResponseBytes,
    },
    clock: options.clock ?? systemClock,
    retry: options.retry === false ? { attempts: 1 } : (options.retry ?? {}),
  }
}
