import { isTracing } from '@chancery/service-kit'
import pg from 'pg'
import { READ_SERVER_RUN, type TransactionId, resolveCommit } from './commit-outcome.ts'
import { DatabaseUnavailableError, UnknownOutcomeError } from '../errors.ts'
import { planStatementName } from '../statement.ts'
import { tracedQuery } from '../tracing.ts'

/** Said each time: locks are taken before the statement that must see what they waited for, whatever the server's default. */
export const BEGIN = 'begin isolation level read committed'

const { Client } = pg

type Callback = (error: Error | undefined, answer: unknown) => void

interface PostgresResult {
  readonly command: string
  readonly rows: readonly Record<string, unknown>[]
}

/**
 * PostgreSQL client that reports the real outcome of COMMIT. A failed statement whose error was caught leaves the
 * transaction aborted. COMMIT then rolls back and the driver reports success; only the command tag shows it. When the
 * connection dies during COMMIT, the client asks the server for the outcome: the caller gets success, a certain
 * failure, or the error for "unknown". A cancelled wait for the synchronous standby is reported as success with a
 * warning: that is "unknown", too, because a failover may lose the commit.
 */
export class PostgresClient extends Client {
  readonly #config: pg.ClientConfig
  #mark: TransactionId | undefined
  #serverRun: string | null | undefined
  /** The statement under way committed, but no standby has confirmed it. */
  #isUnconfirmed = false

  constructor(config: pg.ClientConfig = {}) {
    super(config)
    this.#config = config
    // By the place in the server that warns: its words depend on the language.
    this.on('notice', (notice) => {
      if (notice.routine === 'SyncRepWaitForLSN') this.#isUnconfirmed = true
    })
  }

  // The driver's overloads cannot be written again; what goes in and out stays as it is.
  override query = ((...args: unknown[]) => {
    const [first, values] = args
    if (first === BEGIN) return this.#begin()
    const name = typeof first === 'string' ? planStatementName(first) : undefined
    const sent = name === undefined ? this.#send(...args) : this.#send({ name, text: first, values })
    return first === 'commit' && sent instanceof Promise ? this.#commit(sent as Promise<PostgresResult>) : sent
  }) as pg.Client['query']

  #send(...args: unknown[]): unknown {
    // oxlint-disable-next-line typescript/unbound-method -- applied to this connection in the next lines
    const send = Client.prototype.query as (...given: unknown[]) => unknown
    const last = args.at(-1)
    // The pool passes a callback, other callers use a promise.
    if (typeof last === 'function') return send.apply(this, [...args.slice(0, -1), this.#doubting(last as Callback)])
    const sent = isTracing
      ? tracedQuery(args[0], () => send.apply(this, args) as Promise<unknown>)
      : send.apply(this, args)
    return sent instanceof Promise ? sent.then((answer: unknown) => this.#assertConfirmed(answer)) : sent
  }

  #doubting(callback: Callback): Callback {
    return (error, answer) => {
      const doubt = this.#takeDoubt()
      callback(error ?? doubt, doubt === undefined ? answer : undefined)
    }
  }

  #assertConfirmed<Given>(answer: Given): Given {
    const doubt = this.#takeDoubt()
    if (doubt !== undefined) throw doubt
    return answer
  }

  #takeDoubt(): UnknownOutcomeError | undefined {
    if (!this.#isUnconfirmed) return undefined
    this.#isUnconfirmed = false
    return new UnknownOutcomeError('committed here, but no standby has confirmed it')
  }

  /** What BEGIN asks besides the number of the transaction. A connection stays with one run of the server. */
  protected get beginColumns(): string {
    return this.#serverRun === undefined ? `, ${READ_SERVER_RUN} as run` : ''
  }

  /** How long BEGIN may wait; 0 is without a bound. */
  protected get beginTimeoutMs(): number {
    return 0
  }

  /** Gets the answer to BEGIN, before the work. Throws to refuse the transaction. */
  protected checkBegin(row: Readonly<Record<string, unknown>>): void {
    if ('run' in row) this.#serverRun = typeof row['run'] === 'string' ? row['run'] : null
  }

  /** One round trip begins the transaction and says its number. */
  async #begin(): Promise<PostgresResult | undefined> {
    this.#mark = undefined
    try {
      const text = `${BEGIN}; select pg_current_xact_id()::text as xid${this.beginColumns}`
      const answers = (await this.#send({ text, query_timeout: this.beginTimeoutMs })) as PostgresResult[]
      const row = answers[1]?.rows[0] ?? {}
      this.checkBegin(row)
      this.#mark = { xid: String(row['xid']), serverRun: this.#serverRun ?? null }
      return answers[0]
    } catch (error) {
      // A standby assigns no numbers. The block may be open, but no other caller gets this connection with it.
      await (this.#send('rollback') as Promise<unknown>).catch(() => undefined)
      throw new DatabaseUnavailableError('no transaction could be begun', { cause: error })
    }
  }

  async #commit(sent: Promise<PostgresResult>): Promise<PostgresResult> {
    const mark = this.#mark
    this.#mark = undefined
    try {
      const answer = await sent
      if (answer.command !== 'COMMIT') throw new DatabaseUnavailableError('the transaction was undone')
      return answer
    } catch (error) {
      if (isRefusedCommit(error) || mark === undefined || error instanceof UnknownOutcomeError) throw error
      const outcome = await resolveCommit(this.#config, mark)
      if (outcome === 'committed') return { command: 'COMMIT', rows: [] }
      if (outcome === 'undone') throw new DatabaseUnavailableError('the transaction was undone', { cause: error })
      throw error
    }
  }
}

/** The server said no: certainly nothing was committed. */
export function isRefusedCommit(error: unknown): boolean {
  return error instanceof DatabaseUnavailableError || (sqlState(error) !== undefined && !isConnectionLoss(error))
}

export function sqlState(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.code : undefined
}

function isConnectionLoss(error: unknown): boolean {
  const state = sqlState(error) ?? ''
  return state.startsWith('08') || state.startsWith('57P')
}
