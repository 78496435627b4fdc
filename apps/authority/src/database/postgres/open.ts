import { faultAfterCommit } from '#faults'
import { isTracing } from '@chancery/service-kit'
import { CompiledQuery, Kysely, PostgresDialect, type PostgresPool, sql } from 'kysely'
import pg from 'pg'
import { DatabaseUnavailableError, DiskFullError, LockTimeoutError, MissingRightError } from '../errors.ts'
import type { Connections, Database, Query, RoomOption, Statement, Transaction } from '../database.ts'
import { BEGIN, PostgresClient, isRefusedCommit, sqlState } from './client.ts'
import { LIMITS_MS, NOT_COMPILED, ServerIdentity, pooledClient } from './pooled-client.ts'
import type { Tables } from '../tables.ts'
import { commitProbe, growPostgres, transactOn, transactOnce, undoneProbe, withRetries } from '../transaction.ts'
import type { TransactOptions } from '../transaction.ts'
import { cachePlan } from '../statement.ts'
import { tracedQuery } from '../tracing.ts'
import { WriteProbe } from '../probe-write.ts'
import { DiskRoom } from '../room/disk-room.ts'
import { postgresReserve } from '../room/postgres-reserve.ts'

const { Pool, types } = pg

/** Reads sequences and counters. A value over 2^53 would be rounded otherwise. */
function readInt8(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new RangeError('an integer column beyond 2^53')
  return value
}

/** Connections of one process for transactions and reads. */
const POOL_SIZE = 20

/** Connections for named statements: few, because each is for a batch and rarely runs twice at once. */
const NAMED_POOL_SIZE = 6

const NO_COMPILING = `-c jit=${NOT_COMPILED.jit}`

/**
 * Plans are made once per connection: a new plan for every batch would cost as much as running it. A plan may be made
 * while tables are still empty, so it must not scan whole tables.
 */
const ONE_PLAN = `-c plan_cache_mode=force_generic_plan -c enable_seqscan=off ${NO_COMPILING}`

const DISK_FULL = '53100'

/** `transaction`: a pooler gives each transaction any of its connections to the server. */
export type Pooler = 'none' | 'transaction'

/** Opens one PostgreSQL database. */
export function openPostgres(url: string, pooler: Pooler = 'none'): Database {
  const lost: (() => void)[] = []
  const onLost = (): void => lost.forEach((listener) => listener())
  const isPooled = pooler === 'transaction'
  const identity = new ServerIdentity(onLost)
  const settings = isPooled
    ? { Client: pooledClient(identity), pipeline: true }
    : { Client: PostgresClient, ...LIMITS_MS, options: NO_COMPILING }
  const plans = isPooled ? {} : { options: ONE_PLAN, pipeline: true }
  const pool = openPool(url, { max: POOL_SIZE, ...settings }, onLost)
  const named = openPool(url, { max: NAMED_POOL_SIZE, ...settings, ...plans }, onLost)
  const query = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) })
  const cached = new Kysely<Tables>({ dialect: new PostgresDialect({ pool: named }) })
  const options: TransactOptions = { isRetryable, isRefusedCommit, begin: sql.raw(BEGIN), open: openTransaction }
  const probe = new WriteProbe({
    commit: () => commitProbe((work) => transactOn(query, work, options)),
    writeUndone: () => undoneProbe(query, options),
    grow: () => growPostgres(query),
    isFull,
  })
  const room = new DiskRoom(postgresReserve(query, isFull, sqlState))
  lost.push(() => probe.doubt())
  const { refused } = probe

  return {
    engine: 'postgres',
    location: describeUrl(url),
    read: query,
    room,
    write: (work, { cachedPlans, pipelined, unlimited, room: kind = 'service' } = {}) => {
      const attempt = () =>
        pipelined === true
          ? transactPipelined(named, work, options)
          : transactOn(cachedPlans === true ? cached : query, unlimited === true ? withoutTimeout(work) : work, options)
      return room.run(kind, attempt).catch(refused)
    },
    run: <Input, Row>(statement: Statement<Input, Row>, input: Input, { room: kind = 'service' }: RoomOption = {}) => {
      if (statement.isRead === true) return runAlone(named, statement, input, options).catch(refused)
      // A change is committed only after the answer to BEGIN has said which server it is.
      const attempt = () =>
        isPooled
          ? transactPipelined(named, (tx) => tx.run(statement, input), options)
          : runAlone(named, statement, input, options)
      return room.run(kind, attempt).catch(refused)
    },
    onConnectionLost: (listener) => void lost.push(listener),
    confirmServer: () => identity.confirm(),
    async checkWritable() {
      room.requireService()
      await probe.check()
    },
    connections: () => countConnections([pool, named]),
    async close() {
      // `cached` has no other resources.
      await named.end()
      await query.destroy()
    },
  }
}

function countConnections(pools: readonly pg.Pool[]): Connections {
  const sum = (of: (pool: pg.Pool) => number): number => pools.reduce((all, pool) => all + of(pool), 0)
  return {
    most: POOL_SIZE + NAMED_POOL_SIZE,
    open: sum(({ totalCount }) => totalCount),
    idle: sum(({ idleCount }) => idleCount),
    waiting: sum(({ waitingCount }) => waitingCount),
  }
}

function withoutTimeout<Result>(work: (tx: Transaction) => Promise<Result>): (tx: Transaction) => Promise<Result> {
  return async (tx) => {
    await sql`set local statement_timeout = 0`.execute(tx.query)
    return work(tx)
  }
}

/** One statement, which commits itself. */
function runAlone<Input, Row>(
  pool: pg.Pool,
  statement: Statement<Input, Row>,
  input: Input,
  options: TransactOptions,
): Promise<readonly Row[]> {
  const { name, isRead, postgres } = statement
  return withRetries(options, async () => {
    const { rows } = await pool.query({ name, text: postgres.text, values: [...postgres.values(input)] })
    if (isRead !== true) faultAfterCommit(statement)
    return rows as readonly Row[]
  })
}

/**
 * A transaction whose statements are sent without waiting for earlier ones. The query builder is used for the rest: it
 * sends one statement at a time.
 */
async function transactPipelined<Result>(
  pool: pg.Pool,
  work: (tx: Transaction) => Promise<Result>,
  options: TransactOptions,
): Promise<Result> {
  return withRetries(options, async () => {
    const client = await pool.connect()
    try {
      const connection = queryOf(client)
      let begun: Promise<unknown> = Promise.resolve()
      return await transactOnce(connection, work, {
        ...options,
        sendBegin: () => (begun = client.query(BEGIN)),
        open: () => ({
          ...openTransaction(connection),
          async run<Input, Row>({ name, postgres: { text, values } }: Statement<Input, Row>, input: Input) {
            const sent = client.query({ name, text, values: [...values(input)] })
            // Without BEGIN the next statement of the work would commit alone.
            const [answer] = await Promise.all([sent, begun])
            return answer.rows as readonly Row[]
          },
        }),
      })
    } finally {
      client.release()
    }
  })
}

const queries = new WeakMap<pg.PoolClient, Query>()

/** The query builder on one connection, made once for each. */
function queryOf(client: pg.PoolClient): Query {
  let query = queries.get(client)
  if (query === undefined) {
    // The caller of the connection releases it.
    const lent = Object.assign(Object.create(client) as pg.PoolClient, { release: () => undefined })
    const pool = { connect: async () => lent, end: async () => undefined }
    query = new Kysely<Tables>({ dialect: new PostgresDialect({ pool: pool as unknown as PostgresPool }) })
    queries.set(client, query)
  }
  return query
}

function openTransaction(connection: Query): Pick<Transaction, 'run' | 'lock'> {
  return {
    async run<Input, Row>({ name, postgres: { text, values } }: Statement<Input, Row>, input: Input) {
      const { rows } = await connection.executeQuery(CompiledQuery.raw(cachePlan(name, text), [...values(input)]))
      return rows as readonly Row[]
    },
    async lock(domain) {
      await connection
        .selectFrom('heads')
        .select('name')
        .where('name', '=', domain)
        .forUpdate()
        .executeTakeFirstOrThrow()
        .catch(throwLockTimeout)
    },
  }
}

/** Waiters behind one another wait for the time limit of a lock each, so the limit of the statement can end the wait. */
function throwLockTimeout(error: unknown): never {
  if (sqlState(error) !== '57014') throw error
  throw new LockTimeoutError('a lock was not acquired in time', { cause: error })
}

/** Every wait is bounded: connection 1 s, and LIMITS_MS. */
function openPool(url: string, own: pg.PoolConfig, onLost: () => void): pg.Pool {
  const pool = new Pool({
    connectionString: url,
    ...own,
    connectionTimeoutMillis: 1000,
    keepAlive: true,
    application_name: 'chancery-authority',
    types: {
      getTypeParser: (oid, format) => (oid === types.builtins.INT8 ? readInt8 : types.getTypeParser(oid, format)),
    },
  })
  // A broken connection fails its query and is replaced by the pool. Without these listeners the driver's event would
  // end the process.
  pool.on('error', () => undefined)
  pool.on('connect', (client) => client.on('error', onLost))
  if (isTracing) traceQueries(pool)
  return pool
}

/** Wraps the pool and not only its clients: a query that waits for a client is sent from another request's context. */
function traceQueries(pool: pg.Pool): void {
  const query = pool.query.bind(pool) as (...args: unknown[]) => Promise<unknown>
  pool.query = ((...args: unknown[]) => tracedQuery(args[0], () => query(...args))) as pg.Pool['query']
}

/** Rebuilds the URL from its parts, because the query of a URL may contain secrets. */
function describeUrl(text: string): string {
  const url = new URL(text)
  const user = url.username === '' ? '' : `${url.username}@`
  const port = url.port === '' ? '' : `:${url.port}`
  return `${url.protocol}//${user}${url.hostname}${port}${url.pathname}`
}

function isFull(error: unknown): boolean {
  return error instanceof DiskFullError || sqlState(error) === DISK_FULL
}

/** Serialisation failure and deadlock: the server rolled back everything. */
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

/** The server does not let this user into this database (password, pg_hba.conf), or has no such database. */
export function isRefusedLogin(error: unknown): error is Error {
  return /^(?:28|3D)/.test(sqlState(error) ?? '')
}

const INSUFFICIENT_PRIVILEGE = '42501'

/** Returns the failure as an error of database.ts, undefined when it is a bug. */
export function translatePostgresError(error: unknown): Error | undefined {
  if (!(error instanceof Error)) return undefined
  const state = sqlState(error)
  if (state === '55P03') return new LockTimeoutError('a lock was not acquired in time', { cause: error })
  if (state === INSUFFICIENT_PRIVILEGE)
    return new MissingRightError('the role must own the database and its tables (alter database … owner to …)', {
      cause: error,
    })
  const refused = ['08', '53', '57', '58'].some((group) => state?.startsWith(group) === true)
  // Read-only, idle in a transaction for too long (a paused machine), dropped, still in conflict after all attempts, or
  // another schema than this release expects.
  const unfit = ['25006', '25P03', '3D000', '40001', '40P01', '42P01', '42703'].includes(state ?? '')
  const network = 'code' in error && NETWORK_CODES.has(String(error.code))
  // The driver sets no code for these.
  const lost = /^(?:timeout exceeded when trying to connect|Connection terminated|Query read timeout)/.test(
    error.message,
  )
  const ended = error.message === 'Client has encountered a connection error and is not queryable'
  if (refused || unfit || network || lost || ended)
    return new DatabaseUnavailableError('PostgreSQL is unavailable', { cause: error })
  return undefined
}
