import type { Clock } from '@chancery/service-kit'
import { type RawBuilder, type SelectQueryBuilder, sql } from 'kysely'
import type { Database, Reader } from './database.ts'
import type { Tables } from './tables.ts'

const SLOW_MS = 25
const MAX_AGE_MS = 2000

/**
 * A count for public pages. While counting is fast every caller gets a fresh one. When counting a large table takes
 * longer than 25 ms, callers get the last count, at most about two seconds old, and one of them causes the next. So no
 * write has to update a counter row. Counts of a small table are always fresh, however slow the last one was.
 */
export class AdaptiveCount {
  readonly #clock: Clock
  readonly #count: () => Promise<number>
  readonly #isLarge: () => Promise<boolean>
  #last: { readonly value: number; readonly at: number; readonly isSlow: boolean } | undefined
  #running: Promise<number> | undefined

  /** `isLarge` is asked only after a slow count. */
  constructor(clock: Clock, count: () => Promise<number>, isLarge: () => Promise<boolean>) {
    this.#clock = clock
    this.#count = count
    this.#isLarge = isLarge
  }

  async read(): Promise<number> {
    const last = this.#last
    if (last === undefined || !last.isSlow) return this.#refresh()
    const age = this.#clock.monotonicMs() - last.at
    if (age < MAX_AGE_MS / 2) return last.value
    const refreshed = this.#refreshOnce()
    return age < MAX_AGE_MS ? last.value : refreshed
  }

  #refreshOnce(): Promise<number> {
    this.#running ??= this.#refresh().finally(() => {
      this.#running = undefined
    })
    // The failure must not be unhandled when no caller waits for it.
    this.#running.catch(() => undefined)
    return this.#running
  }

  async #refresh(): Promise<number> {
    const started = this.#clock.monotonicMs()
    const value = await this.#count()
    const at = this.#clock.monotonicMs()
    // Time alone says nothing: it holds the wait for a connection and for the processor, too.
    const isSlow = at - started >= SLOW_MS && (await this.#isLarge())
    this.#last = { value, at, isSlow }
    return value
  }
}

/** Rows of one statement: few enough that its locks end at once. */
const AT_ONCE = 5000

/** Deletes the rows that fit in statements of bounded size, until none is left or the job is stopped. */
export async function deleteInParts(
  database: Pick<Database, 'engine' | 'write'>,
  table: Exclude<keyof Tables, 'audit_subjects'>,
  isOver: RawBuilder<unknown>,
  signal: AbortSignal,
  atOnce: number = AT_ONCE,
): Promise<void> {
  // The place of a row: every table has one, whatever its key. The second condition is for a row changed meanwhile.
  const place = sql.raw(database.engine === 'postgres' ? 'ctid' : 'rowid')
  const name = sql.table(table)
  for (let deleted = atOnce; deleted === atOnce && !signal.aborted;)
    deleted = await database.write(async ({ query }) => {
      const { numAffectedRows } = await sql`delete from ${name}
        where ${place} in (select ${place} from ${name} where ${isOver} limit ${atOnce}) and ${isOver}`.execute(query)
      return Number(numAffectedRows ?? 0)
    })
}

type TableCount = 'node_liveness' | 'agent_registrations'

/** So many rows are counted in about a millisecond. */
const SMALL_ROWS = 10_000

/** True when a table holds more rows than are counted in no time; reads no more of it than that. */
export async function isLargeTable(db: Reader, table: TableCount, small: number = SMALL_ROWS): Promise<boolean> {
  return (await countUpTo(db, db.selectFrom(table), small)) === null
}

/** Counts rows exactly up to the bound, null above: a count over a long history must not hold the database. */
export async function countUpTo<DB, Table extends keyof DB, Row>(
  db: Reader,
  rows: SelectQueryBuilder<DB, Table, Row> | RawBuilder<unknown>,
  bound: number,
): Promise<number | null> {
  const some =
    'limit' in rows
      ? rows
          .clearSelect()
          .select(sql<number>`1`.as('one'))
          .limit(bound + 1)
          .as('bounded')
      : sql`(${rows} limit ${bound + 1})`.as('bounded')
  const count = await countOf(db.selectFrom(some))
  return count > bound ? null : count
}

/** Counts the rows of a query. */
export async function countOf<DB, Table extends keyof DB, Row>(
  rows: SelectQueryBuilder<DB, Table, Row>,
): Promise<number> {
  const counted = rows.clearSelect().select((eb) => eb.fn.countAll<number>().as('count'))
  const { count } = (await counted.executeTakeFirstOrThrow()) as { readonly count: number }
  return Number(count)
}
