import { bad, good, readProcessSettings, settingFindings, silentLog, systemClock, warn } from '@chancery/service-kit'
import type { Clock, Finding } from '@chancery/service-kit'
import type { CommandArguments } from '../key-succession.ts'
import { type AuthoritySettings, readAuthoritySettings } from '../../settings/authority-settings.ts'
import { readSlowestPace, windowOf } from '../../database/migrate.ts'
import type { Database } from '../../database/database.ts'
import { explainDatabaseError, openExistingDatabase } from '../../database/open.ts'
import { isRefusedLogin } from '../../database/postgres/open.ts'
import { openActivePolicies, probeCedar } from '../../features/boundary-policies/index.ts'
import { NO_REDIS, checkNetwork } from '../../features/findings/index.ts'
import { countNodeStates, momentOf } from '../../features/roster/index.ts'
import { openRedisCounts } from '../../limits/redis-counts.ts'
import { checkClock, checkDatabase, checkDurability, checkWrites, measureSpeed } from './check-database.ts'
import { checkBalancer, checkInstance } from './check-edge.ts'
import { type Keys, checkEnvFile, checkKeys, keysInUse } from './check-keys.ts'
import { checkMarks } from './check-marks.ts'
import { checkRecords } from './check-records.ts'
import { checkTables } from './check-tables.ts'
import { type GenesisBlock, type Instant, describeAdmission, instantOf } from '@chancery/protocol'
import { checkRevoked, listRevokedKeys } from '../../auth/operator-keys.ts'
import { isInForce, listRules, readSigned } from '../../features/admission/index.ts'
import type { OwnKeys } from '../../signing/own-keys.ts'
import { AUDIT } from '../../database/partitions/audit-partitions.ts'
import { EVIDENCE } from '../../database/partitions/evidence-partitions.ts'
import { readLayout } from '../../database/partitions/layout.ts'
import { readServerSettings } from '../../database/postgres/server-settings.ts'

const MAX_RULES = 1000

/** Shows what each admission rule admits, and what makes one wider than it looks. */
async function checkAdmission(
  database: Database,
  settings: Pick<AuthoritySettings, 'operators'>,
  keys: OwnKeys,
  genesis: GenesisBlock,
  now: Instant,
): Promise<readonly Finding[]> {
  const rows = (await listRules(database.read, { limit: MAX_RULES })).filter(({ status }) => status === 'active')
  const isRevoked = checkRevoked(await listRevokedKeys(database.read))
  // Also a key that was taken out of the settings after its revocation.
  const revoked = (key_id: string): boolean =>
    isRevoked({ key_id, publicKey: settings.operators.get(key_id)?.publicKey ?? '' })
  const network = { name: genesis.network_name, genesis, genesisText: '' }
  const findings: Finding[] = []
  for (const row of rows) {
    const about = { about: row.rule_id }
    const rule = await readSigned({ keys, network, log: silentLog }, row)
    const remove = `chancery admission remove ${row.rule_id}`
    if (rule === undefined) {
      const fix = `Find out who wrote to the database; then run: ${remove}`
      findings.push(bad('admission-rule', `${row.rule_id} is not as it was signed; it admits no node`, fix, about))
      continue
    }
    const { admits, warnings } = describeAdmission(rule)
    const isOver = rule.expires_at !== null && instantOf(rule.expires_at) <= now
    const state = isInForce(rule, now) ? 'admits' : isOver ? 'is over; it admitted' : 'will admit'
    const found = `${row.rule_id} ${state} ${admits}`
    if (revoked(row.created_by)) {
      const fix = `Was it wanted? If not: ${remove}`
      findings.push(warn('admission-rule', `${found}; the key ${row.created_by} that added it is revoked`, fix, about))
    } else if (warnings.length > 0) {
      const fix = `If that is too wide, add a narrower rule, then run: ${remove}`
      findings.push(warn('admission-rule', `${found}; ${warnings.join('; ')}`, fix, about))
    } else findings.push({ ...good('admission-rule', found), ...about })
  }
  return findings
}

/** Locks of one query for each partition: the tables that it joins, with all their indexes. */
export const LOCKS_OF_PARTITION = { audit: 12, evidence: 15 }

const SETTINGS = ['max_locks_per_transaction', 'max_connections', 'max_prepared_transactions'] as const

export interface LockFacts {
  readonly auditPartitions: number
  readonly evidencePartitions: number
  /** Settings of the server. */
  readonly locksPerTransaction: number
  readonly connections: number
  readonly preparedTransactions: number
}

/** Checks that PostgreSQL has locks for all partitions when every connection queries them at once. */
export async function checkLocks(database: Database): Promise<readonly Finding[]> {
  if (database.engine === 'sqlite') return []
  const [audit, evidence] = [await readLayout(database.read, AUDIT), await readLayout(database.read, EVIDENCE)]
  const found = await readServerSettings(database, SETTINGS)
  const read = (name: (typeof SETTINGS)[number]): number => Number(found.get(name) ?? 0)
  return [
    compareLocks({
      auditPartitions: audit?.partitions.length ?? 0,
      evidencePartitions: evidence?.partitions.length ?? 0,
      locksPerTransaction: read('max_locks_per_transaction'),
      connections: read('max_connections'),
      preparedTransactions: read('max_prepared_transactions'),
    }),
  ]
}

/** The server shares all its locks among its connections. */
export function compareLocks(facts: LockFacts): Finding {
  const { auditPartitions, evidencePartitions, locksPerTransaction, connections, preparedTransactions } = facts
  const owners = connections + preparedTransactions
  const query = Math.max(auditPartitions * LOCKS_OF_PARTITION.audit, evidencePartitions * LOCKS_OF_PARTITION.evidence)
  const needed = query * connections
  const partitions = `${auditPartitions} partitions of audit events, ${evidencePartitions} of evidence`
  if (needed <= locksPerTransaction * owners) return good('database-locks', partitions)
  // For twice as many partitions: a change needs a restart of the server.
  const value = Math.ceil((2 * needed) / owners)
  return warn(
    'database-locks',
    `${partitions}; max_locks_per_transaction is ${locksPerTransaction}`,
    `On the server: alter system set max_locks_per_transaction = ${value}, then restart it, standbys first.`,
    { effect: 'Queries fail with «out of shared memory» when many run at once.' },
  )
}

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
