import { type RawBuilder, sql } from 'kysely'
import type { Database } from '../../../database/database.ts'

/** Part of the table: row ids of SQLite, pages of PostgreSQL. The end is not included. */
export interface Places {
  readonly from: number
  readonly to: number
}

/** Of one statement: about 10,000 rows, so that heartbeats are hardly delayed. */
const AT_ONCE: Readonly<Record<Database['engine'], number>> = { postgres: 400, sqlite: 10_000 }

/** Where the rows are stored, and how many places one statement reads. An empty table has no places. */
export async function findPlaces({
  engine,
  read,
}: Pick<Database, 'engine' | 'read'>): Promise<Places & { readonly atOnce: number }> {
  const { rows } = await (
    engine === 'sqlite'
      ? sql<Places>`select (select coalesce(min(rowid), 0) from node_liveness) as "from",
          (select coalesce(max(rowid) + 1, 0) from node_liveness) as "to"`
      : sql<Places>`select 0 as "from",
          pg_relation_size('node_liveness') / current_setting('block_size')::bigint as "to"`
  ).execute(read)
  const { from, to } = rows[0] ?? { from: 0, to: 0 }
  return { from: Number(from), to: Number(to), atOnce: AT_ONCE[engine] }
}

/** Marks nodes that have become silent, and removes marks of nodes that count as active, in one part of the table. */
export async function markPlaces(
  database: Pick<Database, 'engine' | 'write'>,
  silentUntil: string,
  places: Places,
): Promise<void> {
  await database.write(({ query }) => markStatement(database.engine, silentUntil, places).execute(query))
}

/** Reads these places only: an index on the time of the heartbeat would be written with every heartbeat. */
export function markStatement(engine: Database['engine'], silentUntil: string, places: Places): RawBuilder<unknown> {
  return sql`update node_liveness set silent_since = case when last_heartbeat <= ${silentUntil} then last_heartbeat end
    where ${placedIn(engine, places)} and case when last_heartbeat <= ${silentUntil}
      then silent_since is null and revoke_after is null else silent_since is not null end`
}

function placedIn(engine: Database['engine'], { from, to }: Places): RawBuilder<unknown> {
  return engine === 'sqlite'
    ? sql`rowid >= ${from} and rowid < ${to}`
    : sql`ctid >= ${`(${from},0)`}::tid and ctid < ${`(${to},0)`}::tid`
}
