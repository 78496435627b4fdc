import { member } from '@chancery/protocol'
import { AnswerError, RefusedError, UnreachableError } from './errors.ts'

/** Told before each pause, for a program that wants to show why it waits. */
export interface Pause {
  readonly waitMs: number
  /** The attempt that failed, counted from 1. */
  readonly attempt: number
  readonly error: Error
}

export interface RetryOptions {
  /** Attempts in all, the first included. */
  readonly attempts?: number
  /** Upper end of the first random pause; it doubles each time. */
  readonly firstDelayMs?: number
  /** All pauses of one call together; a longer Retry-After is left to the caller. */
  readonly maxWaitMs?: number
  readonly onPause?: (pause: Pause) => void
}

/** Chance and time; tests replace them. */
export interface RetryParts {
  readonly random: () => number
  readonly sleep: (ms: number, signal: AbortSignal | undefined) => Promise<void>
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

export interface RetryCase {
  readonly options: RetryOptions
  /** Doing it twice ends in the same state, so an attempt whose fate is unknown may be made again. */
  readonly repeatable: boolean
  readonly signal: AbortSignal | undefined
}

/** Runs attempts until one succeeds or no further one is allowed; each attempt signs anew. */
export async function withRetry<Answer>(
  attempt: () => Promise<Answer>,
  { options, repeatable, signal }: RetryCase,
  parts: RetryParts = PLATFORM,
): Promise<Answer> {
  const { attempts, firstDelayMs, maxWaitMs } = { ...RETRY_DEFAULTS, ...options }
  let waited = 0
  for (let count = 1; ; count += 1) {
    try {
      return await attempt()
    } catch (error) {
      if (count >= attempts || !(error instanceof Error) || !mayRepeat(error, repeatable)) throw error
      // Full jitter: callers refused together must not come back together.
      const pause = parts.random() * firstDelayMs * 2 ** (count - 1)
      const waitMs = Math.max(pause, askedSeconds(error) * 1000)
      if (waited + waitMs > maxWaitMs) throw error
      waited += waitMs
      options.onPause?.({ waitMs, attempt: count, error })
      await parts.sleep(waitMs, signal)
    }
  }
}

/** Whether a failed call may be made again without doing something twice. */
export function mayRepeat(error: Error, repeatable: boolean): boolean {
  if (error instanceof UnreachableError) {
    return error.sent === 'never' || (repeatable && BROKEN.has(error.systemCode ?? ''))
  }
  if (error instanceof RefusedError) {
    if (error.status === 503) return repeatable || member(error.details, 'outcome') !== 'unknown'
    return error.status === 429 || CONTENTION.has(error.code)
  }
  // A proxy in front answered: it may or may not have passed the call on.
  return error instanceof AnswerError && repeatable && (error.status === 429 || error.status === 503)
}

function askedSeconds(error: Error): number {
  return error instanceof RefusedError ? (error.retryAfterSeconds ?? 0) : 0
}

const PLATFORM: RetryParts = { random: () => Math.random(), sleep }

function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
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
