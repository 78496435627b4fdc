import { RefusedError, UsageError, ResponseError, UnreachableError } from '../errors.ts'
import { readBaseUrl } from './url.ts'

/**
 * The instances of one authority. One is in use at a time, by all calls of a client: an instance that failed is left
 * once, not by every caller on its own.
 */
export class Endpoints {
  readonly all: readonly string[]
  #at = 0

  constructor(given: string | readonly string[]) {
    this.all = [...new Set((typeof given === 'string' ? [given] : given).map(readBaseUrl))]
    if (this.all.length === 0) throw new UsageError('the address of the authority is missing')
  }

  get current(): string {
    return this.all[this.#at] ?? ''
  }

  /** Moves on from an instance that failed, unless another call already did. */
  leave(failed: string): void {
    if (this.current === failed) this.#at = (this.#at + 1) % this.all.length
  }
}

/** Called before each delay, for a program that shows why it waits. */
export interface RetryDelay {
  readonly waitMs: number
  /** The attempt that failed, counted from 1. */
  readonly attempt: number
  readonly error: Error
}

export interface RetryOptions {
  /** Attempts in all, the first included. Where there are more addresses than this, each is tried once. */
  readonly attempts?: number
  /** Upper end of the first random pause; it doubles each time. */
  readonly firstDelayMs?: number
  /** All pauses of one call together; a longer Retry-After is left to the caller. */
  readonly maxWaitMs?: number
  readonly onRetry?: (delay: RetryDelay) => void
}

/** Chance and time; tests replace them. */
export interface RetryParts {
  readonly random: () => number
  readonly sleep: (ms: number, signal: AbortSignal | undefined) => Promise<void>
  /** Milliseconds that never go backwards. */
  readonly elapsedMs: () => number
}

export const RETRY_DEFAULTS = { attempts: 5, firstDelayMs: 200, maxWaitMs: 120_000 } as const

/** Another writer was quicker; nothing was changed, and the next attempt may win (reliability 5.5). */
const CONTENTION: ReadonlySet<string> = new Set([
  'boundary_policy_activation_conflict',
  'boundary_policy_version_conflict',
  'crl_publish_contention',
  'retention_in_progress',
])

// The connection broke on the way. A wrong certificate or a redirect has other codes and would fail again.
const BROKEN: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'UND_ERR_SOCKET'])

// What a balancer or an instance on its way out says; the next instance may well do it.
const ELSEWHERE: ReadonlySet<number> = new Set([502, 503, 504])

export interface RetryCase {
  readonly options: RetryOptions
  /** Doing it twice ends in the same state, so an attempt whose fate is unknown may be made again. */
  readonly repeatable: boolean
  readonly endpoints: Endpoints
  /** For everything together: attempts, moves and pauses. */
  readonly budgetMs: number
  readonly signal: AbortSignal | undefined
}

/** Makes one attempt at one instance within the remaining time; each attempt signs again. */
export type Attempt<Answer> = (address: string, leftMs: number) => Promise<Answer>

/**
 * Runs attempts until one succeeds or no further one is allowed. An instance that cannot serve is left for the next
 * one at once; a pause is made only after every instance had its turn.
 */
export async function withRetry<Answer>(
  attempt: Attempt<Answer>,
  { options, repeatable, endpoints, budgetMs, signal }: RetryCase,
  parts: RetryParts = PLATFORM,
): Promise<Answer> {
  const { attempts, firstDelayMs, maxWaitMs } = { ...RETRY_DEFAULTS, ...options }
  const end = parts.elapsedMs() + budgetMs
  const limit = Math.max(attempts, endpoints.all.length)
  let [waited, delays] = [0, 0]
  let tried = new Set<string>()
  for (let count = 1; ; count += 1) {
    const address = endpoints.current
    tried.add(address)
    try {
      return await attempt(address, Math.max(1, end - parts.elapsedMs()))
    } catch (error) {
      if (!(error instanceof Error)) throw error
      const leftMs = end - parts.elapsedMs()
      if (canFailOver(error, repeatable)) {
        endpoints.leave(address)
        if (count < limit && leftMs > 0 && !tried.has(endpoints.current)) continue
      }
      if (count >= attempts || !canRetry(error, repeatable)) throw error
      // Full jitter: callers refused together must not come back together.
      const delay = parts.random() * firstDelayMs * 2 ** delays
      const waitMs = Math.max(delay, retryAfterSeconds(error) * 1000)
      if (waited + waitMs > maxWaitMs || waitMs >= leftMs) throw error
      waited += waitMs
      delays += 1
      tried = new Set()
      options.onRetry?.({ waitMs, attempt: count, error })
      await parts.sleep(waitMs, signal)
    }
  }
}

/** Whether another writer was quicker: nothing was changed, and the next attempt may win. */
export function isContention(error: unknown): boolean {
  return error instanceof RefusedError && CONTENTION.has(error.code)
}

/** Whether a failed call may be made again without doing something twice. */
export function canRetry(error: Error, repeatable: boolean): boolean {
  if (error instanceof UnreachableError) {
    return error.sent === 'never' || (repeatable && BROKEN.has(error.systemCode ?? ''))
  }
  if (error instanceof RefusedError) {
    // It may have been carried out, whatever the status says.
    if (error.outcomeUncertain && !repeatable) return false
    return error.status === 503 || error.status === 429 || isContention(error)
  }
  // A proxy in front answered: it may or may not have passed the call on.
  return error instanceof ResponseError && repeatable && (error.status === 429 || error.status === 503)
}

/** Whether the next instance may be asked instead: what may be repeated may, the rest only if nothing was sent. */
export function canFailOver(error: Error, repeatable: boolean): boolean {
  if (error instanceof UnreachableError) return error.sent === 'never' || repeatable
  return repeatable && (error instanceof RefusedError || error instanceof ResponseError) && ELSEWHERE.has(error.status)
}

function retryAfterSeconds(error: Error): number {
  return error instanceof RefusedError ? (error.retryAfterSeconds ?? 0) : 0
}

const PLATFORM: RetryParts = { random: () => Math.random(), sleep, elapsedMs: () => performance.now() }

/** A pause that ends early, with the reason, when the caller aborts. */
export function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) return reject(signal.reason)
    const stop = (): void => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, ms)
    signal?.addEventListener('abort', stop, { once: true })
  })
}
