import { sql } from 'kysely'
import type { Database } from '../database.ts'

/** Standbys every commit waits for; 0 also where this role may not see them (it needs pg_read_all_stats). */
export async function countSyncStandbys(database: Database): Promise<number> {
  const { rows } = await sql<{
    count: number
  }>`select count(*) as count from pg_stat_replication where sync_state in ('sync', 'quorum')`.execute(database.read)
  return rows[0]?.count ?? 0
}

/** As this connection sees them: a role or the URL may overrule the server's own. */
export async function readServerSettings(database: Database, names: readonly string[]): Promise<Map<string, string>> {
  const { rows } = await sql<{
    name: string
    setting: string
  }>`select name, setting from pg_settings where name in (${sql.join(names)})`.execute(database.read)
  return new Map(rows.map((row) => [row.name, row.setting]))
}
