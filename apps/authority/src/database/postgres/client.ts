import { isTracing } from '@chancery/service-kit'
import pg from 'pg'
import { DatabaseUnavailableError, UnknownOutcomeError } from '../errors.ts'
import { planStatementName } from '../statement.ts'
import { tracedQuery } from '../tracing.ts'
import { setTimeout as pause } from 'node:timers/promises'

/** What is known about a transaction before its COMMIT is sent. */
interface TransactionId {
  readonly xid: string
  /**
   * Which run of which server it was: the start of its checkpointer, which a crash, a restart and a failover change.
   * Null where this role may not see it (it needs pg_read_all_stats).
   */
  readonly serverRun: string | null
}

export type CommitOutcome = 'committed' | 'undone' | 'unknown'

export const READ_SERVER_RUN = `(select backend_start::text from pg_stat_activity where backend_type = 'checkpointer')`

/** A failover takes a while; the handler's own deadline is not far behind. */
const RESOLVE_TIMEOUT_MS = 8000
const PAUSE_MS = 50

/**
 * The connection died during COMMIT: asks on new connections what became of the transaction, until one knows
 * (decision 0003). Never guesses: a number that a crashed or promoted server may have given to another transaction
 * proves nothing, so `committed` counts only from the run of the server that had begun ours.
 */
async function resolveCommit(config: pg.ClientConfig, mark: TransactionId): Promise<CommitOutcome> {
  const end = performance.now() + RESOLVE_TIMEOUT_MS
  while (performance.now() < end) {
    const outcome = await readOutcome(config, mark)
    if (outcome !== undefined) return outcome
    await pause(PAUSE_MS)
  }
  return 'unknown'
}

/** Undefined while it is unknown: the server is unavailable, or still working. */
async function readOutcome(config: pg.ClientConfig, mark: TransactionId): Promise<CommitOutcome | undefined> {
  const client = new pg.Client(config)
  // What breaks here fails the query below; without a listener the event would end the process.
  client.on('error', () => undefined)
  try {
    await client.connect()
    const { rows } = await client.query<{ status: string | null; run: string | null; standby: boolean }>(
      `select pg_xact_status($1::xid8) as status, ${READ_SERVER_RUN} as run, pg_is_in_recovery() as standby`,
      [mark.xid],
    )
    const row = rows[0]
    if (row === undefined || row.standby || row.status === 'in progress') return undefined
    // Another transaction may have the number now: ours is not among those that this server committed.
    if (row.status === 'aborted') return 'undone'
    if (row.status !== 'committed' || row.run === null || row.run !== mark.serverRun) return 'unknown'
    return (await confirmOnStandby(client)) ? 'committed' : 'unknown'
  } catch (error) {
    // In the future of a server that never saw it: certainly not committed there.
    if (error instanceof pg.DatabaseError && error.code === '22023') return 'undone'
    return undefined
  } finally {
    await client.end().catch(() => undefined)
  }
}

/**
 * A separate commit: when it returns, the synchronous standbys have everything before it, too. The lost COMMIT may have
 * been interrupted while it waited for them. False when the server stopped waiting for them.
 */
async function confirmOnStandby(client: pg.Client): Promise<boolean> {
  let isConfirmed = true
  client.on('notice', () => {
    isConfirmed = false
  })
  await client.query(
    `insert into rate_limit_windows as w (bucket, window_start, hits) values ('commit-barrier', 0, 1)
     on conflict (bucket, window_start) do update set hits = w.hits + 1`,
  )
  return isConfirmed
}

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
