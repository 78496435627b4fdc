import { type GenesisBlock, type Instant, SECOND } from '@chancery/protocol'
import { sql } from 'kysely'
import { countSyncStandbys, readServerSettings } from '../../database/postgres/server-settings.ts'
import { DURABILITY } from '../../startup/checks.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'
import { NO_STANDBY, SYNC_CLOCK, checkSpeed } from '../../features/health/index.ts'
import { readServerClock } from '../../clock/clock-check.ts'
import { DiskFullError } from '../../database/errors.ts'
import type { Database } from '../../database/database.ts'
import { EXPECTED_SCHEMA_VERSION, isOldSchema, readSchemaVersion, readServedSchema } from '../../database/migrate.ts'
import { translateDatabaseError } from '../../database/open.ts'
import { isCopyUnfinished } from '../../database/copy/unfinished-copy.ts'
import { type Finding, bad, good, skipped, warn } from '@chancery/service-kit'

const NAMES = 'synchronous_standby_names'

/**
 * A commit waits for as long as the standby that the server requires is away, also on a standby that was promoted with
 * this setting. `maySee`: without pg_read_all_stats no standby is visible.
 */
export async function checkStandby(
  database: Database,
  { haMode, maySee }: { readonly haMode: boolean; readonly maySee: boolean },
): Promise<Finding> {
  const standbys = await countSyncStandbys(database)
  const names = (await readServerSettings(database, [NAMES])).get(NAMES) ?? ''
  if (standbys === 0 && names !== '' && maySee)
    return bad(
      'sync-standby',
      `Each commit waits for a synchronous standby (${NAMES} is ${names}), and none is connected`,
      'Start the standby, or go on without it: docs/operate/incidents.md#lost-synchronous-standby.',
      { effect: 'Changes get 503, and the instances are not ready.' },
    )
  return standbys > 0 || !haMode ? good('sync-standby', `${standbys}`) : NO_STANDBY
}

/**
 * Checks that the database responds, has the schema of this release and belongs to this network. Only then its content
 * is checked.
 */
export async function checkDatabase(
  database: Database,
  genesis: GenesisBlock | undefined,
): Promise<readonly Finding[]> {
  const found = await readSchemaVersion(database.read)
  if (found !== EXPECTED_SCHEMA_VERSION) {
    const versions = `schema version ${found}, this release knows ${EXPECTED_SCHEMA_VERSION}`
    if (found > EXPECTED_SCHEMA_VERSION && (await readServedSchema(database.read)).isNewerButServed) {
      const next =
        'A running instance serves until it is stopped. Install the newer release; this one does not start again.'
      return [warn('database-schema', versions, next), await checkIdentity(database, genesis)]
    }
    const fix =
      found > EXPECTED_SCHEMA_VERSION
        ? 'Install the newer release on this machine.'
        : isOldSchema(found)
          ? 'Start release 0.2.0 once, then this release.'
          : 'Start the authority of this release once; it migrates.'
    return [bad('database-schema', versions, fix)]
  }
  const fix = 'Repeat chancery authority migrate with --restart.'
  if (await isCopyUnfinished(database)) return [bad('database-schema', 'holds an unfinished copy', fix)]
  return [good('database-schema', `version ${found}`), await checkIdentity(database, genesis)]
}

/** As the instances measure it: the quickest of five reads. */
export async function measureSpeed(database: Database): Promise<Finding> {
  let least = Number.POSITIVE_INFINITY
  for (let reads = 0; reads < 5; reads += 1) {
    const startedMs = performance.now()
    await readSchemaVersion(database.read)
    least = Math.min(least, performance.now() - startedMs)
  }
  return checkSpeed(least / 1000)
}

/** Commits the row that /readyz commits: a disk may be full although everything can be read. */
export async function checkWrites(database: Database): Promise<Finding> {
  try {
    await database.checkWritable()
    return good('database-writes', 'a row was committed')
  } catch (error) {
    if (error instanceof DiskFullError)
      return bad(
        'database-writes',
        'the disk of the database is full: nothing is stored',
        'Make room on it: docs/operate/incidents.md#full-disk.',
      )
    const translated = translateDatabaseError(error)
    if (translated === undefined) throw error
    return bad(
      'database-writes',
      'a row could not be committed',
      'Is the server a standby, does it wait for a synchronous standby (check sync-standby), is the file read-only, and may this user write it?',
    )
  }
}

async function checkIdentity(database: Database, genesis: GenesisBlock | undefined): Promise<Finding> {
  const held = await database.read.selectFrom('authority_identity').selectAll().executeTakeFirst()
  if (held === undefined) return skipped('database-identity', 'no authority has claimed it yet')
  if (genesis === undefined)
    return skipped('database-identity', `belongs to ${held.network_name}; there is no genesis block to compare with`)
  const isOurs = held.network_name === genesis.network_name && held.public_key === genesis.network_authority.public_key
  const fix = 'Point DATABASE_URL or DB_PATH at the database of this network.'
  return isOurs
    ? good('database-identity', held.network_name)
    : bad('database-identity', `belongs to ${held.network_name} or to another key`, fix)
}

/** Checks that an acknowledged write survives a crash (reliability 12). */
export async function checkDurability(database: Database, { haMode }: AuthoritySettings): Promise<readonly Finding[]> {
  if (database.engine === 'sqlite') return [good('durability', 'SQLite with synchronous=FULL')]
  const found = await readServerSettings(database, [...DURABILITY.map(([name]) => name), 'data_checksums'])
  const lost = DURABILITY.filter(([name, accepted]) => !accepted.some((one) => one === found.get(name)))
  const role = await checkRole(database)
  return [
    lost.length === 0
      ? good('durability', DURABILITY.map(([name]) => name).join(', '))
      : bad(
          'durability',
          lost.map(([name]) => `${name} is ${found.get(name) ?? 'unknown'}`).join(', '),
          `On the server: ${lost.map(([name]) => `alter system set ${name} = on`).join('; ')}; select pg_reload_conf(). Look for it in DATABASE_URL and alter role, too.`,
        ),
    found.get('data_checksums') === 'on'
      ? good('data-checksums', 'on')
      : warn(
          'data-checksums',
          'off: silent disk damage is not detected',
          'Stop the server and run pg_checksums --enable.',
        ),
    role,
    await checkStandby(database, { haMode, maySee: role.status === 'good' }),
  ]
}

async function checkRole(database: Database): Promise<Finding> {
  const { rows } = await sql<{ name: string; may: boolean }>`
    select current_user as name, pg_has_role(current_user, 'pg_read_all_stats', 'usage') as may`.execute(database.read)
  const { name = '', may = false } = rows[0] ?? {}
  if (may) return good('database-role', name)
  return warn(
    'database-role',
    `${name} cannot see standbys nor what became of a lost COMMIT`,
    `grant pg_read_all_stats to "${name}"`,
  )
}

export async function checkClock(
  database: Database,
  { clockCheck }: AuthoritySettings,
  now: () => Instant,
): Promise<Finding> {
  if (database.engine === 'sqlite')
    return skipped('clock', 'SQLite has no clock to compare with: keep a time service running')
  const before = now()
  const server = await readServerClock(database)
  const after = now()
  const ahead = Number(server < before ? before - server : server > after ? after - server : 0n) / Number(SECOND)
  const found = `${Math.abs(ahead).toFixed(3)} s ${ahead < 0 ? 'behind' : 'ahead of'} the database`
  if (Math.abs(ahead) > 30) return bad('clock', found, SYNC_CLOCK)
  if (Math.abs(ahead) > 2) return warn('clock', found, SYNC_CLOCK)
  if (!clockCheck)
    return warn(
      'clock',
      'NA_CLOCK_CHECK is off: a wrong clock signs wrong times',
      'Remove NA_CLOCK_CHECK; it is for rehearsals.',
    )
  return good('clock', found)
}
