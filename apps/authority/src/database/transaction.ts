import { randomInt } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { faultAfterCommit } from '#faults'
import { sql } from 'kysely'
import type { RawBuilder } from 'kysely'
import type { Tx } from './database.ts'
import { UnknownOutcomeError } from './database.ts'

const ATTEMPTS = 4

export interface TransactOptions {
  /** True for failures after which the whole transaction may be run again. */
  readonly isRetryable: (error: unknown) => boolean
  /** How a transaction begins here; plain BEGIN unless said otherwise. */
  readonly begin?: RawBuilder<unknown>
  /** How often a retryable failure is tried; the pauses grow to a few seconds together. */
  readonly attempts?: number
  /** True when a failed COMMIT certainly changed nothing. */
  readonly isRefusedCommit: (error: unknown) => boolean
}

/** begin, work, commit; with the one rule that a COMMIT whose answer was lost is never taken for a failure. */
export async function transactOn<Result>(
  db: Tx,
  work: (tx: Tx) => Promise<Result>,
  options: TransactOptions,
): Promise<Result> {
  return withRetries(options, () =>
    // One connection for the whole of it, given back whatever happens: a connection that died inside a transaction
    // must not be missing from the pool for ever.
    db.connection().execute((connection) => once(connection, work, options)),
  )
}

/** Runs again, after a short random pause, what the server undid for a conflict with somebody else. */
export async function withRetries<Result>(
  options: Pick<TransactOptions, 'isRetryable' | 'attempts'>,
  attempt: () => Promise<Result>,
): Promise<Result> {
  for (let count = 1; ; count += 1) {
    try {
      return await attempt()
    } catch (error) {
      if (count >= (options.attempts ?? ATTEMPTS) || !options.isRetryable(error)) throw error
      await pause(randomInt(10, 100))
    }
  }
}

async function once<Result>(
  connection: Tx,
  work: (tx: Tx) => Promise<Result>,
  options: TransactOptions,
): Promise<Result> {
  await (options.begin ?? sql`begin`).execute(connection)
  let result: Result
  try {
    result = await work(connection)
  } catch (error) {
    await rollback(connection)
    throw error
  }
  try {
    await sql`commit`.execute(connection)
  } catch (error) {
    if (error instanceof UnknownOutcomeError) throw error
    if (!options.isRefusedCommit(error))
      throw new UnknownOutcomeError('the answer to COMMIT was lost', { cause: error })
    await rollback(connection)
    throw error
  }
  faultAfterCommit(connection)
  return result
}

/** Runs `work` and undoes it, whatever it did. */
export function rollBackAfter<Result>(db: Tx, work: (tx: Tx) => Promise<Result>): Promise<Result> {
  return db.connection().execute(async (connection) => {
    await sql`begin`.execute(connection)
    try {
      return await work(connection)
    } finally {
      await rollback(connection)
    }
  })
}

/** The cause is already on its way up; a rollback that fails too means the connection is gone, and with it the work. */
async function rollback(connection: Tx): Promise<void> {
  await sql`rollback`.execute(connection).catch(() => undefined)
}
