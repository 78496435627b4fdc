import { WINDOW_SECONDS } from '@chancery/contract'
import { Batcher, LimiterUnavailableError } from '@chancery/service-kit'
import type { Clock, Limiter } from '@chancery/service-kit'
import type { Database, WindowHits } from '../database/database.ts'

const WINDOW_MICROS = BigInt(WINDOW_SECONDS) * 1_000_000n

/** Where the hits of all instances are added up. Implementers MUST reject when they could not count. */
export interface WindowCounts {
  /** How the readiness document calls it; with something to fall back to, the one that counts now. */
  readonly name: string
  /** Adds hits to windows and gives the new totals, in the order of the rows. */
  add(rows: readonly WindowHits[]): Promise<readonly number[]>
  /** The total of one window, 0 for a window nobody counted in. */
  read(bucket: string, windowStart: number): Promise<number>
  close(): Promise<void>
}

/**
 * Counts where all instances can see it, so that they share one window. Hits that arrive while a count is under way
 * share the next one. When nothing can count, nobody is let through uncounted.
 */
export class SharedLimiter implements Limiter {
  readonly #counts: WindowCounts
  readonly #clock: Clock
  readonly #hits: Batcher<string, number>

  constructor(counts: WindowCounts, clock: Clock) {
    this.#counts = counts
    this.#clock = clock
    this.#hits = new Batcher((buckets) => this.#count(buckets), { maxItems: 200, maxWaiting: 10_000 })
  }

  get name(): string {
    return this.#counts.name
  }

  async hit(bucket: string, limit: number): Promise<boolean> {
    try {
      return (await this.#hits.add(bucket)) <= limit
    } catch (error) {
      throw new LimiterUnavailableError(this.name, { cause: error })
    }
  }

  async isOver(bucket: string, limit: number): Promise<boolean> {
    try {
      return (await this.#counts.read(bucket, this.#windowStart())) >= limit
    } catch (error) {
      throw new LimiterUnavailableError(this.name, { cause: error })
    }
  }

  async probe(): Promise<void> {
    await this.isOver('probe', 1)
  }

  async close(): Promise<void> {
    await this.#hits.close()
    await this.#counts.close()
  }

  /** One row per bucket; each caller learns which hit of the window it was. */
  async #count(buckets: readonly string[]): Promise<number[]> {
    const windowStart = this.#windowStart()
    const sums = new Map<string, number>()
    for (const bucket of buckets) sums.set(bucket, (sums.get(bucket) ?? 0) + 1)
    const rows = [...sums].map(([bucket, hits]) => ({ bucket, windowStart, hits }))
    const totals = await this.#counts.add(rows)
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

/** Windows as rows of the authority's own database. */
export function databaseCounts(database: Database): WindowCounts {
  return {
    name: 'database',
    add: (rows) => database.countHits(rows),
    async read(bucket, windowStart) {
      const row = await database.read
        .selectFrom('rate_limit_windows')
        .select('hits')
        .where('bucket', '=', bucket)
        .where('window_start', '=', windowStart)
        .executeTakeFirst()
      return row?.hits ?? 0
    },
    close: async () => undefined,
  }
}

/** Removes windows nobody counts in any more; run by a job, never by a request. */
export async function purgeLimiterWindows(database: Database, clock: Clock): Promise<void> {
  const oldest = Number(clock.now() / 1_000_000n) - 2 * WINDOW_SECONDS
  await database.read.deleteFrom('rate_limit_windows').where('window_start', '<', oldest).execute()
}
