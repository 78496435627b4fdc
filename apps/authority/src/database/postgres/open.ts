import { isTracing } from '@chancery/service-kit'
import { Kysely, PostgresDialect, sql } from 'kysely'
import pg from 'pg'
import { LockTimeoutError, DatabaseUnavailableError, UnknownOutcomeError } from '../database.ts'
import type { NonceClaim, RunStatement, Database, WindowHits } from '../database.ts'
import { BEGIN, PostgresClient, isRefusedCommit, sqlState } from './client.ts'
import type { Tables } from '../tables.ts'
import { commitProbe, growPostgres, undoneProbe } from '../probe-work.ts'
import { tracedQuery } from '../tracing.ts'
import { withRetries, transactOn } from '../transaction.ts'
import type { TransactOptions } from '../transaction.ts'
import { WriteProbe } from '../probe-write.ts'

const { Pool, types } = pg

/** Sequences and counters; one beyond 2^53 would be rounded in silence otherwise. */
function readInt8(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new RangeError('an integer column beyond 2^53')
  return value
}

/** Connections of one process for transactions and questions. */
const POOL_SIZE = 20

/** And for named statements: few, each over a batch, so that hardly more than one of a kind is ever under way. */
const NAMED_POOL_SIZE = 6

/**
 * Their plans are made once: the database would otherwise make a new one for every batch, which costs as much as running
 * it. A plan may be made while tables are still empty, so it must not read them from end to end, and nothing is compiled
 * for it.
 */
const ONE_PLAN = '-c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c jit=off'

const DISK_FULL = '53100'

/** Opens one PostgreSQL database. */
export function openPostgres(url: string): Database {
  const lost: (() => void)[] = []
  const onLost = (): void => {
    for (const listener of lost) listener()
  }
  const pool = openPool(url, { max: POOL_SIZE }, onLost)
  const named = openPool(url, { max: NAMED_POOL_SIZE, options: ONE_PLAN }, onLost)
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) })
  const often = new Kysely<Tables>({ dialect: new PostgresDialect({ pool: named }) })
  const options = { isRetryable, isRefusedCommit, begin: sql.raw(BEGIN) }
  const probe = new WriteProbe({
    commit: () => commitProbe((work) => transactOn(db, work, options)),
    writeUndone: () => undoneProbe(db, options),
    grow: () => growPostgres(db),
    isFull: (error) => sqlState(error) === DISK_FULL,
  })
  lost.push(() => probe.doubt())
  const { refused } = probe

  return {
    engine: 'postgres',
    location: describeUrl(url),
    read: db,
    write: (work) => transactOn(db, work, options).catch(refused),
    transactOften: (work) => transactOn(often, work, options).catch(refused),
    async lockDomain(tx, name) {
      await tx.selectFrom('heads').select('name').where('name', '=', name).forUpdate().executeTakeFirstOrThrow()
    },
    native: {
      kind: 'postgres',
      run: <Row extends object>(name: string, text: string, values: readonly unknown[]) =>
        withRetries(options, () => runOn(named)<Row>(name, text, values)).catch(refused),
      transact: (work) => withRetries(options, () => transactNamed(named, work, options)).catch(refused),
    },
    async readVersions() {
      const { rows } = await named.query<{ name: string; version: number; due: string | null }>({
        name: 'read-stamps',
        text: 'select name, version, (select min(list_after) from issued_certs where list_after is not null) as due from heads',
      })
      return { versions: new Map(rows.map((row) => [row.name, row.version])), nextListing: rows[0]?.due ?? null }
    },
    claimNonces: (rows) => claimAll(named, rows).catch(refused),
    countHits: (rows) => countAll(named, rows).catch(refused),
    onConnectionLost: (listener) => void lost.push(listener),
    checkWritable: () => probe.check(),
    async close() {
      // `often` has nothing else.
      await named.end()
      await db.destroy()
    },
  }
}

/** Every wait is bounded: connection 1 s, lock 5 s, statement 10 s. */
function openPool(url: string, own: Pick<pg.PoolConfig, 'max' | 'options'>, onLost: () => void): pg.Pool {
  const pool = new Pool({
    connectionString: url,
    Client: PostgresClient,
    ...own,
    connectionTimeoutMillis: 1000,
    statement_timeout: 10_000,
    lock_timeout: 5000,
    idle_in_transaction_session_timeout: 10_000,
    keepAlive: true,
    application_name: 'chancery-authority',
    types: {
      getTypeParser: (oid, format) => (oid === types.builtins.INT8 ? readInt8 : types.getTypeParser(oid, format)),
    },
  })
  // A connection that breaks, idle or in use, fails the query it was for and is replaced by the pool. Without these
  // listeners the driver's event would end the process instead.
  pool.on('error', () => undefined)
  pool.on('connect', (client) => client.on('error', onLost))
  if (isTracing) traceQueries(pool)
  return pool
}

/** Around the pool, not only around its clients: a question that waits for a client is sent in somebody else's turn. */
function traceQueries(pool: pg.Pool): void {
  const query = pool.query.bind(pool) as (...args: unknown[]) => Promise<unknown>
  pool.query = ((...args: unknown[]) => tracedQuery(args[0], () => query(...args))) as pg.Pool['query']
}

function runOn(target: pg.Pool | pg.PoolClient): RunStatement {
  return async (name, text, values) => (await target.query({ name, text, values: [...values] })).rows
}

/** As transactOn, for named statements on one connection. */
async function transactNamed<Result>(
  pool: pg.Pool,
  work: (run: RunStatement) => Promise<Result>,
  options: TransactOptions,
): Promise<Result> {
  const client = await pool.connect()
  let broken: Error | undefined
  try {
    await client.query(BEGIN)
    const result = await work(runOn(client))
    try {
      await client.query('commit')
    } catch (error) {
      broken = error instanceof Error ? error : new Error('COMMIT failed')
      throw options.isRefusedCommit(error)
        ? error
        : new UnknownOutcomeError('the answer to COMMIT was lost', { cause: error })
    }
    return result
  } catch (error) {
    if (broken === undefined) {
      await client.query('rollback').catch((failed: Error) => {
        broken = failed
      })
    }
    throw error
  } finally {
    // A connection in an unknown state is not given to the next caller.
    client.release(broken)
  }
}

/** One statement for the whole batch, sorted by key so that two instances cannot wait for each other. */
async function claimAll(pool: pg.Pool, rows: readonly NonceClaim[]): Promise<boolean[]> {
  const hex = rows.map((row) => Buffer.from(row.claim).toString('hex'))
  const order = rows.map((_, index) => index).sort((a, b) => ((hex[a] ?? '') < (hex[b] ?? '') ? -1 : 1))
  const { rows: fresh } = await pool.query<{ claim: Buffer }>({
    name: 'claim-nonces',
    text:
      'insert into nonces (claim, expires_at) select * from unnest($1::bytea[], $2::text[]) ' +
      'on conflict do nothing returning claim',
    values: [order.map((i) => Buffer.from(rows[i]?.claim ?? [])), order.map((i) => rows[i]?.expires_at)],
  })
  const won = new Set(fresh.map((row) => row.claim.toString('hex')))
  // `delete` is true once: of equal claims in the batch the first takes the row, the others are replays.
  return hex.map((claim) => won.delete(claim))
}

async function countAll(pool: pg.Pool, rows: readonly WindowHits[]): Promise<number[]> {
  const sorted = [...rows].sort((a, b) => (a.bucket < b.bucket ? -1 : 1))
  const { rows: totals } = await pool.query<{ bucket: string; window_start: number; hits: number }>({
    name: 'count-hits',
    text:
      'insert into rate_limit_windows as w (bucket, window_start, hits) ' +
      'select * from unnest($1::text[], $2::bigint[], $3::bigint[]) ' +
      'on conflict (bucket, window_start) do update set hits = w.hits + excluded.hits ' +
      'returning bucket, window_start, hits',
    values: [sorted.map((r) => r.bucket), sorted.map((r) => r.windowStart), sorted.map((r) => r.hits)],
  })
  const byKey = new Map(totals.map((row) => [`${row.window_start} ${row.bucket}`, row.hits]))
  return rows.map((row) => byKey.get(`${row.windowStart} ${row.bucket}`) ?? 0)
}

/** Rebuilt from its parts, never edited: the query of a URL may hold secrets, too. */
function describeUrl(text: string): string {
  const url = new URL(text)
  const user = url.username === '' ? '' : `${url.username}@`
  const port = url.port === '' ? '' : `:${url.port}`
  return `${url.protocol}//${user}${url.hostname}${port}${url.pathname}`
}

/** Serialisation failure and deadlock: the server undid everything. */
function isRetryable(error: unknown): boolean {
  const state = sqlState(error)
  return state === '40001' || state === '40P01'
}

const NETWORK_CODES: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EHOSTUNREACH',
  'ENOENT',
  'EAI_AGAIN',
])

/** The failure as the rest of the authority knows it; undefined when it is a bug. */
export function translatePostgresError(error: unknown): Error | undefined {
  if (!(error instanceof Error)) return undefined
  const state = sqlState(error)
  if (state === '55P03') return new LockTimeoutError('a lock was not had in time', { cause: error })
  const refused = ['08', '53', '57', '58'].some((group) => state?.startsWith(group) === true)
  // Read-only, ended for standing still inside a transaction (a paused machine), dropped, still in conflict after all
  // tries, or not the schema this release knows.
  const unfit = ['25006', '25P03', '3D000', '40001', '40P01', '42P01', '42703'].includes(state ?? '')
  const network = 'code' in error && NETWORK_CODES.has(String(error.code))
  // The driver gives these two no code.
  const lost = /^(?:timeout exceeded when trying to connect|Connection terminated)/.test(error.message)
  const ended = error.message === 'Client has encountered a connection error and is not queryable'
  if (refused || unfit || network || lost || ended)
    return new DatabaseUnavailableError('PostgreSQL cannot answer', { cause: error })
  return undefined
}
