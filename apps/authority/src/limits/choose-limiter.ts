import { fromBase64, sha256Hex } from '@chancery/protocol'
import { type Clock, type Counter, type Limiter, type Log, MemoryLimiter } from '@chancery/service-kit'
import type { Core } from '../core.ts'
import type { AuthoritySettings } from '../settings/authority-settings.ts'
import { openRedisCounts } from './redis-counts.ts'
import { SharedLimiter, type WindowCounts, type WindowHits, databaseCounts } from './shared-limiter.ts'

/** How long the first backend is not used after a failure: a slow one would delay every call. */
const REST_MS = 1000

export interface FallbackTools {
  readonly clock: Pick<Clock, 'monotonicMs'>
  readonly log: Log
  /** Number of counts made in the second backend. */
  readonly fallbacks: Counter
}

/**
 * Counts in the first backend, and in the second while the first fails. When both fail, the call fails. A window that
 * changes its backend begins again there, so in the worst case a caller gets twice its limit, once: both backends keep
 * their counts.
 */
class FallbackCounts implements WindowCounts {
  readonly #first: WindowCounts
  readonly #second: WindowCounts
  readonly #tools: FallbackTools
  #isResting = false
  #restsUntil = 0

  constructor(first: WindowCounts, second: WindowCounts, tools: FallbackTools) {
    this.#first = first
    this.#second = second
    this.#tools = tools
  }

  get name(): string {
    return this.#isResting ? this.#second.name : this.#first.name
  }

  add(rows: readonly WindowHits[]): Promise<readonly number[]> {
    return this.#ask((counts) => counts.add(rows))
  }

  read(bucket: string, windowStart: number): Promise<number> {
    return this.#ask((counts) => counts.read(bucket, windowStart))
  }

  async close(): Promise<void> {
    await this.#first.close()
    await this.#second.close()
  }

  async #ask<Answer>(question: (counts: WindowCounts) => Promise<Answer>): Promise<Answer> {
    if (!this.#isResting || this.#tools.clock.monotonicMs() >= this.#restsUntil) {
      try {
        const answer = await question(this.#first)
        this.#return()
        return answer
      } catch (error) {
        this.#rest(error)
      }
    }
    this.#tools.fallbacks.increase()
    return question(this.#second)
  }

  #rest(error: unknown): void {
    // Once per outage, not once per call.
    if (!this.#isResting)
      this.#tools.log.warn('rate limiter backend failed, counting in the database', {
        from: this.#first.name,
        to: this.#second.name,
        error,
      })
    this.#isResting = true
    this.#restsUntil = this.#tools.clock.monotonicMs() + REST_MS
  }

  #return(): void {
    if (!this.#isResting) return
    this.#isResting = false
    this.#tools.log.info('rate limiter backend recovered', { limiter: this.#first.name })
  }
}

interface LimiterParts extends Pick<Core, 'database' | 'clock' | 'log' | 'metrics'> {
  /** Prefix of the network, whichever key signs: authorities that share a Redis server count separately. */
  readonly rootPublicKey: string
}

/** Chooses where limits are counted, by RATE_LIMIT_STORE. Redis always falls back to the database: never unlimited. */
export async function chooseLimiter(settings: AuthoritySettings, parts: LimiterParts): Promise<Limiter> {
  const { database, rootPublicKey, clock, log, metrics } = parts
  const { heartbeatMode, limiterStore, redisUrl } = settings
  if (limiterStore === 'memory') return new MemoryLimiter(clock)
  if (limiterStore === 'database' && heartbeatMode === 'gathered')
    log.warn('each heartbeat writes rows of the limiter: set REDIS_URL, or memory with one process', {
      setting: 'RATE_LIMIT_STORE',
    })
  if (limiterStore === 'database' || redisUrl === undefined) return new SharedLimiter(databaseCounts(database), clock)
  const authority = sha256Hex(fromBase64(rootPublicKey) ?? new Uint8Array()).slice(0, 16)
  const redis = await openRedisCounts(redisUrl, `chancery:limit:${authority}`)
  const tools = { clock, log, fallbacks: metrics.limiterFallbacks }
  return new SharedLimiter(new FallbackCounts(redis, databaseCounts(database), tools), clock)
}
