import { sql } from 'kysely'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Database } from '../../../database/database.ts'

/** Rows per statement: few enough that heartbeats are hardly delayed. */
const ROWS = 5000
/** Rows that SQLite reads in one turn of the thread that serves requests. */
const READ_ROWS = 20_000

/** An instance of the earlier release records heartbeats and leaves marks. */
export async function removeOldMarks(database: Database, silentUntil: string): Promise<void> {
  await database.write(({ query }) =>
    sql`update node_liveness set silent_since = null
      where silent_since is not null and last_heartbeat > ${silentUntil}`.execute(query),
  )
}

/** Marks in statements of bounded size. SQLite reads ranges of rows, in turns of the loop. */
export async function addMarks(database: Database, silentUntil: string, signal: AbortSignal): Promise<void> {
  if (database.engine === 'sqlite') return markInTurns(database, silentUntil, signal)
  const isToMark = sql`silent_since is null and revoke_after is null and last_heartbeat <= ${silentUntil}`
  for (let marked = ROWS; marked === ROWS && !signal.aborted;)
    marked = await database.write(async ({ query }) => {
      const { numAffectedRows } = await sql`update node_liveness set silent_since = last_heartbeat
        where cert_id in (select cert_id from node_liveness where ${isToMark} limit ${ROWS}) and ${isToMark}`.execute(
        query,
      )
      return Number(numAffectedRows ?? 0)
    })
}

async function markInTurns(database: Database, silentUntil: string, signal: AbortSignal): Promise<void> {
  const { rows } = await sql<{ last: number | null }>`select max(rowid) as last from node_liveness`.execute(
    database.read,
  )
  const last = rows[0]?.last ?? 0
  for (let from = 0; from <= last && !signal.aborted; from += READ_ROWS) {
    const range = sql`rowid > ${from} and rowid <= ${from + READ_ROWS}`
    const isToMark = sql`silent_since is null and revoke_after is null and last_heartbeat <= ${silentUntil}`
    const found = await sql`select 1 from node_liveness where ${range} and ${isToMark} limit 1`.execute(database.read)
    if (found.rows.length > 0)
      await database.write(({ query }) =>
        sql`update node_liveness set silent_since = last_heartbeat where ${range} and ${isToMark}`.execute(query),
      )
    await nextTurn()
  }
}
