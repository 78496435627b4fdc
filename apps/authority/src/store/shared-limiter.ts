import { WINDOW_SECONDS } from '@chancery/contract'
import { Batcher, LimiterUnavailable } from '@chancery/service-kit'
import type { Clock, Limiter } from '@chancery/service-kit'
import type { Store } from './database.ts'

const WINDOW_MICROS = BigInt(WINDOW_SECONDS) * 1_000_000n

/**
 * Counts in the database, so that all instances share one window. Hits that arrive while a statement is under way
 * share the next one. When the database cannot count, nobody is let through uncounted.
 */
export class DatabaseLimiter implements Limiter {
  readonly name = 'database'
  readonly #store: Store
  readonly #clock: Clock
  readonly #hits: Batcher<string, number>

  constructor(store: Store, clock: Clock) {
    this.#store = store
    this.#clock = clock
    this.#hits = new Batcher((buckets) => this.#count(buckets), { maxItems: 200, maxWaiting: 10_000 })
  }

  async hit(bucket: string, limit: number): Promise<boolean> {
    try {
      return (await this.#hits.add(bucket)) <= limit
    } catch (error) {
      throw new LimiterUnavailable(this.name, { cause: error })
    }
  }

  async isOver(bucket: string, limit: number): Promise<boolean> {
    try {
      const row = await this.#store.db
        .selectFrom('rate_limit_windows')
        .select('hits')
        .where('bucket', '=', bucket)
        .where('window_start', '=', this.#windowStart())
        .executeTakeFirst()
      return (row?.hits ?? 0) >= limit
    } catch (error) {
      throw new LimiterUnavailable(this.name, { cause: error })
    }
  }

  async probe(): Promise<void> {
    await this.isOver('probe', 1)
  }

  async close(): Promise<void> {
    await this.#hits.close()
  }

  /** One row per bucket; each caller learns which hit of the window it was. */
  async #count(buckets: readonly string[]): Promise<number[]> {
    const windowStart = this.#windowStart()
    const sums = new Map<string, number>()
    for (const bucket of buckets) sums.set(bucket, (sums.get(bucket) ?? 0) + 1)
    const rows = [...sums].map(([bucket, hits]) => ({ bucket, windowStart, hits }))
    const totals = await this.#store.countHits(rows)
    const next = new Map(rows.map((row, i) => [row.bucket, (totals[i] ?? 0) - row.hits]))
    return buckets.map((bucket) => {
      const position = (next.get(bucket) ?? 0) + 1
      next.set(bucket, position)
      return position
    })
  }

  #windowStart(): number {
    return Number(this.#clock.now() / WINDOW_MICROS) * WINDOW_SECONDS
  }
}

/** Removes windows nobody counts in any more; run by a job, never by a request. */
export async function purgeLimiterWindows(store: Store, clock: Clock): Promise<void> {
  const oldest = Number(clock.now() / 1_000_000n) - 2 * WINDOW_SECONDS
  await store.db.deleteFrom('rate_limit_windows').where('window_start', '<', oldest).execute()
}
