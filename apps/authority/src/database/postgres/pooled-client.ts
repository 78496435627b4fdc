import type pg from 'pg'
import { DatabaseUnavailableError } from '../errors.ts'
import { BEGIN, PostgresClient, READ_SERVER_RUN } from './client.ts'

/** How long the server lets a statement run, wait for a lock, and leave a transaction idle. */
export const LIMITS_MS = {
  statement_timeout: 10_000,
  lock_timeout: 5000,
  idle_in_transaction_session_timeout: 10_000,
} as const

/** BEGIN waits for nothing on the server: a pooler that does not answer it has no server to give. */
const BEGIN_TIMEOUT_MS = 2000

/**
 * Which run of which server, whether it follows another, and which database on it: a restart, a failover, a promotion
 * and a database made again change it.
 */
const READ_SERVER = `extract(epoch from pg_postmaster_start_time())::text || ' ' || pg_is_in_recovery()::text || ' '
  || (select oid from pg_database where datname = current_database())::text`

/** To compile a statement takes longer than it runs. */
export const NOT_COMPILED = { jit: 'off' } as const

/** Until the end of the transaction: settings of the session would stay with a connection that others get next. */
const SET_LIMITS = Object.entries({ ...LIMITS_MS, ...NOT_COMPILED })
  .map(([name, value]) => `set_config('${name}', '${value}', true) as ${name}`)
  .join(', ')

const BEGIN_READ = 'begin isolation level read committed read only'

/**
 * The server behind a pooler. When it is replaced, connections to the pooler stay open, so its identity is read in every
 * transaction. The first transaction on another server fails, as it does when a direct connection is lost. Requests that
 * were admitted before it must not commit there, so only reads begin until the server is compared and confirmed.
 */
export class ServerIdentity {
  readonly #onReplaced: () => void
  #known: string | undefined
  /** Commands compare nothing: without a first confirmation none is needed. */
  #isCompared = false
  #isConfirmed = false

  constructor(onReplaced: () => void) {
    this.#onReplaced = onReplaced
  }

  check(server: unknown, mode: 'read' | 'write'): void {
    if (typeof server !== 'string') throw new DatabaseUnavailableError('the server did not say which one it is')
    const before = this.#known
    this.#known = server
    if (before !== undefined && before !== server) {
      this.#isConfirmed = false
      this.#onReplaced()
      throw new DatabaseUnavailableError('another server or database answers')
    }
    if (mode === 'write' && this.#isCompared && !this.#isConfirmed)
      throw new DatabaseUnavailableError('another server answers, and it is not compared yet')
  }

  /** The known server was compared with the high-water mark. */
  confirm(): void {
    this.#isCompared = true
    this.#isConfirmed = true
  }
}

/** PgBouncer refuses the parameters of a direct connection. */
export function isPoolerRefusal(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('unsupported startup parameter')
}

interface Answer {
  readonly rows: readonly Readonly<Record<string, unknown>>[]
}

type Callback = (error: Error | undefined, answer?: unknown) => void

/**
 * The client for a pooler in transaction mode, such as PgBouncer. Nothing depends on the session: no named statements,
 * no startup parameters, and every statement runs in a transaction that sets its limits and says its server. A single
 * read is sent together with its BEGIN and ROLLBACK, in one round trip.
 */
class PooledClient extends PostgresClient {
  readonly #identity: ServerIdentity
  readonly #send: (...args: unknown[]) => Promise<unknown>
  #isOpen = false

  constructor(config: pg.ClientConfig | undefined, identity: ServerIdentity) {
    super(config)
    this.#identity = identity
    this.#send = this.query
    this.query = ((...args: unknown[]) => {
      const last = args.at(-1)
      if (typeof last !== 'function') return this.#run(...args)
      const callback = last as Callback
      this.#run(...args.slice(0, -1)).then(
        (answer) => callback(undefined, answer),
        (error: unknown) => callback(error as Error),
      )
      return undefined
    }) as pg.Client['query']
  }

  protected override get beginColumns(): string {
    return `, ${READ_SERVER_RUN} as run, ${READ_SERVER} as server, ${SET_LIMITS}`
  }

  protected override get beginTimeoutMs(): number {
    return BEGIN_TIMEOUT_MS
  }

  protected override checkBegin(row: Readonly<Record<string, unknown>>): void {
    super.checkBegin(row)
    this.#identity.check(row['server'], 'write')
  }

  #run(first?: unknown, values?: unknown): Promise<unknown> {
    const config = typeof first === 'string' ? { text: first, values } : (first as { text: string; values?: unknown })
    const { text } = config
    if (text === BEGIN) return this.#open(this.#send(BEGIN))
    if (/^begin\b/i.test(text)) return this.#open(this.#begin(text))
    if (text === 'commit' || text === 'rollback') {
      this.#isOpen = false
      return this.#send(text)
    }
    const unnamed = { text, values: config.values }
    return this.#isOpen ? this.#send(unnamed) : this.#read(unnamed)
  }

  async #open(begun: Promise<unknown>): Promise<unknown> {
    this.#isOpen = true
    try {
      return await begun
    } catch (error) {
      this.#isOpen = false
      throw error
    }
  }

  /** A transaction that commits nothing: one that reads, or one that is undone. */
  async #begin(text: string): Promise<unknown> {
    const all = `${text}; select ${READ_SERVER} as server, ${SET_LIMITS}`
    try {
      const [answer, facts] = (await this.#send({ text: all, query_timeout: BEGIN_TIMEOUT_MS })) as Answer[]
      this.#identity.check(facts?.rows[0]?.['server'], text.endsWith('read only') ? 'read' : 'write')
      return answer
    } catch (error) {
      await this.#send('rollback').catch(() => undefined)
      throw new DatabaseUnavailableError('no transaction could be begun', { cause: error })
    }
  }

  /** When BEGIN fails, the statement fails with it or has changed nothing. */
  async #read(unnamed: { readonly text: string; readonly values: unknown }): Promise<unknown> {
    const [begun, answer] = await Promise.allSettled([
      this.#begin(BEGIN_READ),
      this.#send(unnamed),
      this.#send('rollback'),
    ])
    if (begun.status === 'rejected') throw begun.reason
    if (answer.status === 'rejected') throw answer.reason
    return answer.value
  }
}

/** The class of clients that share one server. */
export function pooledClient(identity: ServerIdentity): typeof PostgresClient {
  return class extends PooledClient {
    constructor(config?: pg.ClientConfig) {
      super(config, identity)
    }
  }
}
