import {
  DOCTOR_RULES,
  type Check,
  type Clock,
  type Finding,
  bad,
  good,
  readProcessSettings,
  runChecks,
  settingFindings,
  systemClock,
  warn,
} from '@chancery/service-kit'
import type { CommandArguments } from '../key-succession.ts'
import { type AuthoritySettings, readAuthoritySettings } from '../../settings/authority-settings.ts'
import { readSlowestPace, windowOf } from '../../database/migrate.ts'
import type { Database } from '../../database/database.ts'
import { explainDatabaseError, openExistingDatabase } from '../../database/open.ts'
import { isRefusedLogin } from '../../database/postgres/open.ts'
import { openActivePolicies, probeCedar } from '../../features/boundary-policies/index.ts'
import { type CheckedNetwork, NETWORK } from '../../features/findings/index.ts'
import { NO_REDIS } from '../../features/health/index.ts'
import { countNodeStates, momentOf } from '../../features/roster/index.ts'
import { openRedisCounts } from '../../limits/redis-counts.ts'
import { hasCoreDumps, isInContainer } from '../../startup/checks.ts'
import { checkClock, checkDatabase, checkDurability, checkWrites, measureSpeed } from './check-database.ts'
import { checkBalancer, checkInstance } from './check-edge.ts'
import { type Keys, checkEnvFile, checkKeys, keysInUse } from './check-keys.ts'
import { checkAdmission, checkMarks, checkRecords } from './check-records.ts'
import { checkLocks, checkTables } from './check-tables.ts'

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
    ...(await checkCoreDumps(settings)),
    ...keys.findings,
    ...store.findings,
    ...(await checkRedis(settings)),
    ...(await checkInstance(settings, store.ownKeys?.all)),
  ]
}

interface OpenedParts extends Pick<Keys, 'genesis' | 'ownKeys'> {
  readonly database: Database
  readonly settings: AuthoritySettings
  readonly clock: Clock
  readonly url: string | undefined
}

/** Whether the database is the right one. */
const OPENED: readonly Check<OpenedParts>[] = [
  { name: 'database-schema', find: ({ database, genesis }) => checkDatabase(database, genesis) },
  { name: 'durability', find: ({ database, settings }) => checkDurability(database, settings) },
  { name: 'clock', find: ({ database, settings, clock }) => checkClock(database, settings, () => clock.now()) },
]

/** What is in it. Without the keys of the authority its records are not checked. */
const CONTENT: readonly Check<OpenedParts & CheckedNetwork>[] = [
  { name: 'database-writes', find: ({ database }) => checkWrites(database) },
  { name: 'database-speed', find: ({ database }) => measureSpeed(database) },
  {
    name: 'high-water',
    find: ({ database, settings, ownKeys, now }) =>
      ownKeys === undefined ? [] : checkMarks(database, settings, ownKeys.all, now),
  },
  ...NETWORK,
  { name: 'tables', find: ({ database, settings, now }) => checkTables(database, settings, now) },
  { name: 'database-locks', find: ({ database }) => checkLocks(database) },
  {
    name: 'crl-entries',
    find: ({ database, settings, ownKeys, now }) =>
      ownKeys === undefined ? [] : checkRecords(database, settings, ownKeys, now),
  },
  {
    name: 'admission-rule',
    find: ({ database, settings, ownKeys, genesis, now }) =>
      ownKeys === undefined || genesis === undefined ? [] : checkAdmission(database, settings, ownKeys, genesis, now),
  },
  {
    name: 'balancer',
    find: ({ url, settings, genesis, database }) =>
      url === undefined || genesis === undefined ? [] : checkBalancer(url, { settings, genesis, database }),
  },
]

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
    const parts: OpenedParts = { ...keys, database, settings, clock, url }
    findings.push(good('database', database.location), ...keys.findings)
    await runChecks(OPENED, parts, findings, DOCTOR_RULES)
    // Rows of another release or another network would be misread.
    if (!findings.some(({ check, status }) => status === 'bad' && FIT.includes(check)))
      await runChecks(CONTENT, { ...parts, ...(await describeNetwork(parts)) }, findings, DOCTOR_RULES)
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

const FIT = ['database-schema', 'database-identity']

/** What the checks of the network read that a running authority has in memory. */
async function describeNetwork({
  database,
  settings,
  genesis,
  ownKeys,
  clock,
}: OpenedParts): Promise<Omit<CheckedNetwork, 'database' | 'settings'>> {
  const now = clock.now()
  const windowSeconds = windowOf(Math.max(settings.heartbeatSeconds, await readSlowestPace(database.read, now)))
  return {
    operators: settings.operators,
    now,
    name: genesis?.network_name,
    policies: ownKeys === undefined ? undefined : await openActivePolicies({ database, keys: ownKeys }).read(),
    nodes: await countNodeStates(database.read, momentOf(now, windowSeconds)),
    windowSeconds,
    probeCedar,
  }
}

/** Elsewhere an instance with core dumps does not start in HA mode. */
async function checkCoreDumps({ haMode }: AuthoritySettings): Promise<readonly Finding[]> {
  if (!haMode || !isInContainer()) return []
  if (!(await hasCoreDumps())) return [good('core-dumps', 'off')]
  const fix = 'Disable them on the machine (kernel.core_pattern), or for the container (ulimits).'
  return [warn('core-dumps', 'on: a crash may write the signing key to a disk', fix)]
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
