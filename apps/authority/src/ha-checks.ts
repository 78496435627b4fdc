import { readFile } from 'node:fs/promises'
import inspector from 'node:inspector'
import type { Log } from '@chancery/service-kit'
import { sql } from 'kysely'
import { StartRefused } from './genesis.ts'
import type { Store } from './store/database.ts'

/** Each makes an acknowledged write survive a crash of the server; `remote_apply` waits for even more than `on`. */
export const DURABILITY: readonly (readonly [name: string, accepted: readonly string[]])[] = [
  ['fsync', ['on']],
  ['full_page_writes', ['on']],
  ['synchronous_commit', ['on', 'remote_apply']],
]

/** What a PostgreSQL that several instances trust must promise (reliability 12): refused otherwise, one line each. */
export async function checkDurability(store: Store, requireSyncStandby: boolean, log: Log): Promise<void> {
  const found = await readServerSettings(store, [...DURABILITY.map(([name]) => name), 'data_checksums'])
  for (const [name, accepted] of DURABILITY) {
    const value = found.get(name) ?? 'unknown'
    if (!accepted.some((one) => one === value))
      throw new StartRefused(
        `DATABASE_URL: ${name} is ${value} on the server, NA_HA_MODE=on needs ${accepted[0] ?? ''}`,
      )
  }
  if (found.get('data_checksums') !== 'on')
    log.warn('the database has no data checksums: silent corruption of its disk would not be noticed')
  if ((await countSyncStandbys(store)) > 0) return
  if (requireSyncStandby) throw new StartRefused('NA_REQUIRE_SYNC_STANDBY: the database has no synchronous standby')
  log.warn('the database has no synchronous standby: a failover may lose acknowledged writes')
}

/** Standbys every commit waits for; 0 also where this role may not see them (it needs pg_read_all_stats). */
export async function countSyncStandbys(store: Store): Promise<number> {
  const { rows } = await sql<{
    count: number
  }>`select count(*) as count from pg_stat_replication where sync_state in ('sync', 'quorum')`.execute(store.db)
  return rows[0]?.count ?? 0
}

/** As this connection sees them: a role or the URL may overrule the server's own. */
export async function readServerSettings(store: Store, names: readonly string[]): Promise<Map<string, string>> {
  const { rows } = await sql<{
    name: string
    setting: string
  }>`select name, setting from pg_settings where name in (${sql.join(names)})`.execute(store.db)
  return new Map(rows.map((row) => [row.name, row.setting]))
}

/** The signing key is in this memory: no debugger may read it, no crash may write it to a disk (reliability 9). */
export async function checkProcess(
  { coreDumps, log }: { readonly coreDumps: 'refuse' | 'warn'; readonly log: Log },
  limitsFile = '/proc/self/limits',
): Promise<void> {
  if (inspector.url() !== undefined)
    throw new StartRefused('NODE_OPTIONS: the inspector is on, NA_HA_MODE=on needs it off')
  // Where the file does not exist (it is Linux's) the platform's own rules hold.
  const limits = await readFile(limitsFile, 'utf8').catch(() => '')
  const soft = /^Max core file size +(\S+)/m.exec(limits)?.[1] ?? '0'
  if (soft === '0') return
  if (coreDumps === 'refuse')
    throw new StartRefused(
      'NA_HA_MODE: on needs core dumps off (ulimit -c 0, LimitCORE=0 in the service file, ulimits of the container; where none can be set, NA_CORE_DUMPS=warn)',
    )
  log.warn(
    'core dumps are on: a crash may write the signing key to a disk; let the machine drop them (kernel.core_pattern)',
  )
}
