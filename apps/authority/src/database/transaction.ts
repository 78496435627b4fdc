import { randomBytes, randomInt } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { faultAfterCommit } from '#faults'
import { type RawBuilder, sql } from 'kysely'
import { type Query, type Statement, type Transaction, storeTime } from './database.ts'
import { DiskFullError, LockTimeoutError, UnknownOutcomeError } from './errors.ts'
import { lockBasisOf } from './locks/decision-basis.ts'
import { raiseVersion } from './locks/domains.ts'
import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { systemClock } from '@chancery/service-kit'

const ATTEMPTS = 4

/** What all locks of one transaction may wait together. PostgreSQL bounds each wait alone (LIMITS_MS). */
const LOCKS_MS = 5000

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
  const inTime = boundWaits()
  const tx: Transaction = {
    query: connection,
    ...opened,
    lock: (domain) => inTime(() => opened.lock(domain)),
    async raiseVersion(domain) {
      await inTime(() => lockBasisOf(opened, domain))
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

/**
 * With a slow database several locks can each come just in time, and the request passes its deadline during the work
 * after them. Its caller would not know whether it was done. Refused here, nothing was changed, and the answer says so.
 */
function boundWaits(): (wait: () => Promise<void>) => Promise<void> {
  let waited = 0
  return async (wait) => {
    const started = performance.now()
    await wait()
    waited += performance.now() - started
    if (waited > LOCKS_MS) throw new LockTimeoutError('the locks of one transaction were not acquired in time')
  }
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

/** Less than the next checkpoint of a busy file needs. */
export const LEAST_FREE_BYTES: number = 1 << 20

const writeRow = (query: Query): Promise<void> => storeTime({ query }, 'write-probe', systemClock.now())

/** One row that is changed in place, committed: a standby, a full disk or a read-only file refuses it. */
export const commitProbe = (write: (work: (tx: Transaction) => Promise<void>) => Promise<void>): Promise<void> =>
  write((tx) => writeRow(tx.query))

/** The same, taken back: a standby, a read-only file, or a file that another holds refuses it. */
export const undoneProbe = (query: Query, options: Pick<TransactOptions, 'isRetryable' | 'attempts'>): Promise<void> =>
  withRetries(options, () => rollBackAfter(query, writeRow))

/** The write-ahead log is written over again and again, so that commits go on for a while on a disk that is full. */
export async function checkFreeSpace(path: string): Promise<void> {
  const { bavail, bsize } = await statfs(dirname(path))
  if (bavail * bsize < LEAST_FREE_BYTES)
    throw new DiskFullError(`less than ${LEAST_FREE_BYTES} bytes are free where the SQLite file is`)
}

/** A table of eight pages that is never committed: its files are new, so no free room of another table is used for them. */
export async function growPostgres(query: Query): Promise<void> {
  const table = sql.id(`write_probe_${randomBytes(8).toString('hex')}`)
  await rollBackAfter(query, async (open) => {
    await sql`create table ${table} (filler text)`.execute(open)
    // Short enough to be stored as they are.
    await sql`insert into ${table} select repeat('x', 1900) from generate_series(1, 32)`.execute(open)
  })
}

// A node key is a lock: issuing a certificate for it shares the lock, revoking it as compromised takes it exclusively.
// Without the lock a certificate could be issued while its key is revoked, and no list would contain it. SQLite has one
// writer and needs no lock.
const locking = (name: string, lock: string): Statement<readonly string[], unknown> => ({
  name,
  postgres: {
    // Keys in order, so that two transactions cannot wait for each other.
    text: `select ${lock}(hashtextextended(k, 77)) from (select distinct k from unnest($1::text[]) k order by k) keys`,
    values: (keys) => [keys],
  },
  sqlite: () => [],
})

export const SHARE_NODE_KEYS = locking('share-node-keys', 'pg_advisory_xact_lock_shared')
export const LOCK_NODE_KEYS = locking('lock-node-keys', 'pg_advisory_xact_lock')

/** Locks keys exclusively until the transaction ends. */
export async function lockNodeKeys(tx: Transaction, keys: readonly string[]): Promise<void> {
  if (keys.length > 0) await tx.run(LOCK_NODE_KEYS, keys)
}
