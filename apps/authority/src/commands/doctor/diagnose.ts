import { bad, good, readProcessSettings, settingFindings, systemClock } from '@chancery/service-kit'
import type { Clock, Finding } from '@chancery/service-kit'
import type { CommandArguments } from '../command-settings.ts'
import { type AuthoritySettings, readAuthoritySettings } from '../../settings/authority-settings.ts'
import { readSlowestPace, windowOf } from '../../database/active-window.ts'
import type { Database } from '../../database/database.ts'
import { explainDatabaseError, openExistingDatabase } from '../../database/open.ts'
import { isRefusedLogin } from '../../database/postgres/open.ts'
import { openActivePolicies, probeCedar } from '../../features/boundary-policies/index.ts'
import { NO_REDIS, checkNetwork } from '../../features/findings/index.ts'
import { countNodeStates, momentOf } from '../../features/roster/index.ts'
import { openRedisCounts } from '../../limits/redis-counts.ts'
import { checkAdmission } from './check-admission.ts'
import { checkClock, checkDatabase, checkDurability, checkWrites, measureSpeed } from './check-database.ts'
import { checkBalancer, checkInstance } from './check-edge.ts'
import { type Keys, checkEnvFile, checkKeys, keysInUse } from './check-keys.ts'
import { checkLocks } from './check-locks.ts'
import { checkMarks } from './check-marks.ts'
import { checkRecords } from './check-records.ts'
import { checkTables } from './check-tables.ts'

export interface DoctorArguments extends CommandArguments {
  /** The public address of the authority. Without it the public address is not checked. */
  readonly url?: string
  readonly clock?: Clock
}

/**
 * Checks a deployment from its settings to its public address, and names a fix for every problem. It changes nothing
 * but one audit event of a refused call and the row that every instance writes as a probe. A check that cannot run does
 * not stop the others.
 */
export async function diagnose(args: DoctorArguments): Promise<readonly Finding[]> {
  const { values: settings, problems } = await readProcessSettings(args, readAuthoritySettings)
  if (settings === undefined) return settingFindings(problems, 'authority')
  const { envFile, clock = systemClock } = args
  const keys = await checkKeys(settings, clock.now())
  const store = await checkStore(settings, keys, { ...args, clock })
  return [
    good('settings', 'every one is understood'),
    ...(envFile === undefined ? [] : [await checkEnvFile(envFile)]),
    ...keys.findings,
    ...store.findings,
    ...(await checkRedis(settings)),
    ...(await checkInstance(settings, store.ownKeys?.all)),
  ]
}

/** Also returns the keys that the database belongs to. After a rotation they are later than those of the settings. */
async function checkStore(
  settings: AuthoritySettings,
  given: Keys,
  { url, clock }: DoctorArguments & { readonly clock: Clock },
): Promise<Pick<Keys, 'findings' | 'ownKeys'>> {
  let database: Database | undefined
  let keys = given
  const findings: Finding[] = []
  try {
    database = openExistingDatabase(settings.databaseLocation)
    keys = await keysInUse(database, settings, given)
    const databaseFindings = [...keys.findings, ...(await checkDatabase(database, keys.genesis))]
    findings.push(good('database', database.location), ...databaseFindings)
    findings.push(...(await checkDurability(database, settings)))
    findings.push(await checkClock(database, settings, () => clock.now()))
    // Rows of another release or another network would be misread.
    if (databaseFindings.some(({ status }) => status === 'bad')) return { findings, ownKeys: keys.ownKeys }
    findings.push(await checkWrites(database), await measureSpeed(database))
    if (keys.ownKeys !== undefined)
      findings.push(...(await checkMarks(database, settings, keys.ownKeys.all, clock.now())))
    findings.push(...(await checkState(database, settings, keys, clock)))
    findings.push(...(await checkTables(database, settings, clock.now())))
    findings.push(...(await checkLocks(database)))
    if (keys.ownKeys !== undefined && keys.genesis !== undefined)
      findings.push(
        ...(await checkRecords(database, settings, keys.ownKeys, clock.now())),
        ...(await checkAdmission(database, settings, keys.ownKeys, keys.genesis, clock.now())),
      )
    if (url !== undefined && keys.genesis !== undefined)
      findings.push(...(await checkBalancer(url, { settings, genesis: keys.genesis, database })))
  } catch (error) {
    const message = isRefusedLogin(error) ? error.message : explainDatabaseError(error)
    if (message === undefined) throw error
    const name =
      settings.databaseLocation.kind === 'sqlite' ? `DB_PATH ${settings.databaseLocation.path}` : 'DATABASE_URL'
    findings.push(
      bad(
        'database',
        `${name} cannot be opened or read: ${message}`,
        'Is the server up, the name right, the password current, and may this user read it?',
      ),
    )
  } finally {
    await database?.close()
  }
  return { findings, ownKeys: keys.ownKeys }
}

/** Runs the checks that the console shows, too. */
async function checkState(
  database: Database,
  settings: AuthoritySettings,
  { genesis, ownKeys }: Keys,
  clock: Clock,
): Promise<readonly Finding[]> {
  const now = clock.now()
  const slowest = Math.max(settings.heartbeatSeconds, await readSlowestPace(database.read, now))
  const windowSeconds = windowOf(slowest)
  return checkNetwork({
    database,
    settings,
    operators: settings.operators,
    now,
    name: genesis?.network_name,
    policies: ownKeys === undefined ? undefined : await openActivePolicies({ database, keys: ownKeys }).read(),
    nodes: await countNodeStates(database.read, momentOf(now, windowSeconds)),
    windowSeconds,
    probeCedar,
  })
}

async function checkRedis({ limiterStore, redisUrl }: AuthoritySettings): Promise<readonly Finding[]> {
  if (limiterStore !== 'redis' || redisUrl === undefined) return [good('rate-limiter', limiterStore)]
  const counts = await openRedisCounts(redisUrl, 'chancery:doctor')
  try {
    await counts.read('probe', 0)
    return [good('rate-limiter', 'redis')]
  } catch {
    return [NO_REDIS]
  } finally {
    await counts.close()
  }
}
