import { WINDOW_SECONDS } from '@chancery/contract'
import { Batcher, type Clock, type Limiter, LimiterUnavailableError } from '@chancery/service-kit'
import { sql } from 'kysely'
import { DiskFullError } from '../database/errors.ts'
import type { Database, Statement } from '../database/database.ts'
import { deleteInParts } from '../database/large-tables.ts'

const WINDOW_MICROS = BigInt(WINDOW_SECONDS) * 1_000_000n

export interface WindowHits {
  readonly bucket: string
  readonly windowStart: number
  readonly hits: number
}

/** Where the hits of all instances are added. Implementations MUST reject when they could not count. */
export interface WindowCounts {
  /** The name in the readiness document. With a fallback, the backend that counts now. */
  readonly name: string
  /** Adds hits to windows and returns the new totals, in the order of the rows. */
  add(rows: readonly WindowHits[]): Promise<readonly number[]>
  /** The total of one window, 0 for a window without hits. */
  read(bucket: string, windowStart: number): Promise<number>
  close(): Promise<void>
}

/**
 * Counts where all instances can see it, so that they share one window. Hits that arrive while a count is under way
 * share the next one. When hits cannot be counted, requests are refused.
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
    return (await this.used(bucket)) >= limit
  }

  async used(bucket: string): Promise<number> {
    try {
      return await this.#counts.read(bucket, this.#windowStart())
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

  /** One row per bucket. Each caller gets the number of its hit in the window. */
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

interface WindowTotal {
  readonly bucket: string
  readonly window_start: number
  readonly hits: number
}

/** Adds hits to windows and returns the new totals. Rows are in the order of their buckets, so no two can deadlock. */
const COUNT_HITS: Statement<readonly WindowHits[], WindowTotal> = {
  name: 'count-hits',
  postgres: {
    text:
      'insert into rate_limit_windows as w (bucket, window_start, hits) ' +
      'select * from unnest($1::text[], $2::bigint[], $3::bigint[]) ' +
      'on conflict (bucket, window_start) do update set hits = w.hits + excluded.hits ' +
      'returning bucket, window_start, hits',
    values: (rows) => [rows.map((r) => r.bucket), rows.map((r) => r.windowStart), rows.map((r) => r.hits)],
  },
  sqlite(prepare, rows) {
    const upsert = prepare(
      'insert into rate_limit_windows (bucket, window_start, hits) values (?, ?, ?) on conflict (bucket, window_start) ' +
        'do update set hits = hits + excluded.hits returning bucket, window_start, hits',
    )
    return rows.map((row) => upsert.get(row.bucket, row.windowStart, row.hits) as unknown as WindowTotal)
  },
}

/** Adds hits to windows and returns the new totals, in the order of the rows. */
export async function countHits(
  database: Pick<Database, 'run'>,
  rows: readonly WindowHits[],
): Promise<readonly number[]> {
  const sorted = [...rows].sort((a, b) => (a.bucket < b.bucket ? -1 : 1))
  const totals = await database.run(COUNT_HITS, sorted)
  const byKey = new Map(totals.map((row) => [`${row.window_start} ${row.bucket}`, Number(row.hits)]))
  return rows.map((row) => byKey.get(`${row.windowStart} ${row.bucket}`) ?? 0)
}

/**
 * Hits that a full disk did not take, in this process only: never unlimited, and an operator can still revoke. Of the
 * current window alone.
 */
class OwnCounts {
  #windowStart = 0
  #hits = new Map<string, number>()

  add(rows: readonly WindowHits[]): readonly number[] {
    return rows.map(({ bucket, windowStart, hits }) => {
      if (windowStart !== this.#windowStart) this.#hits = new Map()
      this.#windowStart = windowStart
      const total = (this.#hits.get(bucket) ?? 0) + hits
      this.#hits.set(bucket, total)
      return total
    })
  }

  read(bucket: string, windowStart: number): number {
    return windowStart === this.#windowStart ? (this.#hits.get(bucket) ?? 0) : 0
  }
}

/** Windows as rows of the authority's own database. */
export function databaseCounts(database: Database): WindowCounts {
  const own = new OwnCounts()
  return {
    name: 'database',
    async add(rows) {
      try {
        return await countHits(database, rows)
      } catch (error) {
        if (!(error instanceof DiskFullError)) throw error
        return own.add(rows)
      }
    },
    async read(bucket, windowStart) {
      const row = await database.read
        .selectFrom('rate_limit_windows')
        .select('hits')
        .where('bucket', '=', bucket)
        .where('window_start', '=', windowStart)
        .executeTakeFirst()
      return (row?.hits ?? 0) + own.read(bucket, windowStart)
    },
    close: async () => undefined,
  }
}

/** Removes old windows; run by a job, never by a request. */
export async function purgeLimiterWindows(database: Database, clock: Clock, signal: AbortSignal): Promise<void> {
  const oldest = Number(clock.now() / 1_000_000n) - 2 * WINDOW_SECONDS
  await deleteInParts(database, 'rate_limit_windows', sql`window_start < ${oldest}`, signal)
}
