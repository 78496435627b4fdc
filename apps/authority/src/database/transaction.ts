import { randomInt } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { faultAfterCommit } from '#faults'
import { type RawBuilder, sql } from 'kysely'
import type { Query, Transaction } from './database.ts'
import { UnknownOutcomeError } from './errors.ts'
import { lockBasisOf } from './locks/decision-basis.ts'
import { raiseVersion } from './locks/domains.ts'

const ATTEMPTS = 4

export interface TransactOptions {
  /** True for failures after which the whole transaction may be run again. */
  readonly isRetryable: (error: unknown) => boolean
  /** The statement that begins a transaction; BEGIN when left out. */
  readonly begin?: RawBuilder<unknown>
  /** Sends BEGIN at once. The work then starts without waiting for the answer; see WriteOptions.pipelined. */
  readonly sendBegin?: () => Promise<unknown>
  /** How often a retryable failure is tried; the pauses add up to a few seconds. */
  readonly attempts?: number
  /** True when a failed COMMIT certainly changed nothing. */
  readonly isRefusedCommit: (error: unknown) => boolean
  /** What the engine does differently inside a transaction. */
  open(connection: Query): Pick<Transaction, 'run' | 'lock'>
}

/** Runs begin, work and commit. A COMMIT without a response is never taken for a failure. */
export async function transactOn<Result>(
  query: Query,
  work: (tx: Transaction) => Promise<Result>,
  options: TransactOptions,
): Promise<Result> {
  return withRetries(options, () =>
    // One connection for all statements, always released: a connection that died inside a transaction must not be
    // missing from the pool.
    query.connection().execute((connection) => transactOnce(connection, work, options)),
  )
}

/** Runs `attempt` again, after a short random pause, when the server rolled it back for a conflict. */
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

/** One attempt on a connection that no other caller has. */
export async function transactOnce<Result>(
  connection: Query,
  work: (tx: Transaction) => Promise<Result>,
  options: TransactOptions,
): Promise<Result> {
  const begun = options.sendBegin?.() ?? (options.begin ?? sql`begin`).execute(connection)
  if (options.sendBegin === undefined) await begun
  else begun.catch(() => undefined)
  const opened = options.open(connection)
  const tx: Transaction = {
    query: connection,
    ...opened,
    async raiseVersion(domain) {
      await lockBasisOf(opened, domain)
      await raiseVersion(connection, domain)
    },
  }
  let result: Result
  try {
    result = await work(tx)
    await begun
  } catch (error) {
    // When BEGIN failed, that is why the statements after it failed, and there is nothing to roll back.
    await begun
    await rollback(connection)
    throw error
  }
  try {
    await sql`commit`.execute(connection)
  } catch (error) {
    if (error instanceof UnknownOutcomeError) throw error
    if (!options.isRefusedCommit(error))
      throw new UnknownOutcomeError('the response to COMMIT was lost', { cause: error })
    await rollback(connection)
    throw error
  }
  faultAfterCommit(tx)
  return result
}

/** Runs `work` and rolls it back. */
export function rollBackAfter<Result>(query: Query, work: (query: Query) => Promise<Result>): Promise<Result> {
  return query.connection().execute(async (connection) => {
    await sql`begin`.execute(connection)
    try {
      return await work(connection)
    } finally {
      await rollback(connection)
    }
  })
}

/** The caller gets the first error. When the rollback fails too, the connection is lost and the server rolls back. */
async function rollback(connection: Query): Promise<void> {
  await sql`rollback`.execute(connection).catch(() => undefined)
}
