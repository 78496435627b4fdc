import { type Log, StartError } from '@chancery/service-kit'
import type { Database } from '../database/database.ts'
import { countSyncStandbys, readServerSettings } from '../database/postgres/server-settings.ts'

/** Each makes an acknowledged write survive a crash of the server; `remote_apply` waits for even more than `on`. */
export const DURABILITY: readonly (readonly [name: string, accepted: readonly string[]])[] = [
  ['fsync', ['on']],
  ['full_page_writes', ['on']],
  ['synchronous_commit', ['on', 'remote_apply']],
]

/**
 * Checks what a PostgreSQL database for several instances must guarantee (reliability 12). Refuses otherwise, with one
 * line each.
 */
export async function checkDurability(database: Database, requireSyncStandby: boolean, log: Log): Promise<void> {
  const found = await readServerSettings(database, [...DURABILITY.map(([name]) => name), 'data_checksums'])
  for (const [name, accepted] of DURABILITY) {
    const value = found.get(name) ?? 'unknown'
    if (!accepted.some((one) => one === value))
      throw new StartError(`DATABASE_URL: ${name} is ${value} on the server, NA_HA_MODE=on needs ${accepted[0] ?? ''}`)
  }
  if (found.get('data_checksums') !== 'on')
    log.warn('the database has no data checksums: silent corruption of its disk would not be detected')
  if ((await countSyncStandbys(database)) > 0) return
  if (requireSyncStandby)
    throw new StartError('NA_REQUIRE_SYNC_STANDBY: the database has no synchronous standby', { isTemporary: true })
  log.warn('the database has no synchronous standby: a failover may lose acknowledged writes')
}
