import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'

/** What is known about a transaction before its COMMIT is sent. */
export interface TransactionId {
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
export async function resolveCommit(config: pg.ClientConfig, mark: TransactionId): Promise<CommitOutcome> {
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
