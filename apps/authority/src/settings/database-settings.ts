import { SettingError, integer, onOff, oneOf, setting, text } from '@chancery/service-kit'
import type { Reader, SettingValues } from '@chancery/service-kit'
import type { DatabaseLocation } from '../database/open.ts'
import { splitList, urlOf } from './readers.ts'

const databaseUrl: Reader<DatabaseLocation> = (value) => {
  if (value.startsWith('sqlite:///'))
    return { kind: 'sqlite', path: `/${value.slice('sqlite:///'.length).replace(/^\/+/, '')}` }
  if (!/^postgres(?:ql)?:\/\//.test(value) || !URL.canParse(value)) {
    throw new SettingError('must be postgresql://… or sqlite:///path')
  }
  return { kind: 'postgres', url: value }
}

const readUrl: Reader<string> = (value) => {
  if (!/^postgres(?:ql)?:\/\//.test(value) || !URL.canParse(value)) throw new SettingError('must be postgresql://…')
  return value
}

const fileList: Reader<readonly string[]> = (value) => {
  const files = splitList(value)
  if (new Set(files).size !== files.length) throw new SettingError('must name each file once')
  return files
}

/** Settings of the database and the shared limiter. */
export const DATABASE_SETTINGS = {
  dbPath: setting({
    name: 'DB_PATH',
    flag: '--db-path',
    help: 'SQLite file.',
    read: text,
    default: 'chancery.db',
    sharedName: true,
  }),
  databaseUrl: setting({
    name: 'DATABASE_URL',
    help: 'postgresql://… or sqlite:///path; used instead of DB_PATH.',
    read: databaseUrl,
    secret: true,
    sharedName: true,
  }),
  databaseReadUrl: setting({
    name: 'DATABASE_READ_URL',
    help: 'postgresql://… of a streaming replica that answers searches and public material.',
    read: readUrl,
    secret: true,
    sharedName: true,
  }),
  readMaxLagSeconds: setting({
    name: 'NA_READ_MAX_LAG_SECONDS',
    help: 'How late the replica of DATABASE_READ_URL may be, in seconds. When it is later, the primary answers.',
    read: integer({ min: 1, max: 300 }),
    default: 5,
  }),
  databasePooler: setting({
    name: 'NA_DATABASE_POOLER',
    help: 'transaction when DATABASE_URL is a pooler in transaction mode, such as PgBouncer.',
    read: oneOf('none', 'transaction'),
    default: 'none',
  }),
  haMode: setting({
    name: 'NA_HA_MODE',
    help: 'on refuses the start without PostgreSQL and a shared limiter.',
    read: onOff,
    default: false,
    defaultText: 'off',
  }),
  rateLimitStore: setting({
    name: 'RATE_LIMIT_STORE',
    help: 'Where limits are counted.',
    read: oneOf('memory', 'redis', 'database'),
    defaultText: 'memory on SQLite, redis when REDIS_URL is set, else database',
  }),
  redisUrl: setting({
    name: 'REDIS_URL',
    help: 'Redis server of the shared limiter.',
    read: urlOf('redis', 'rediss'),
    secret: true,
    sharedName: true,
  }),
  highWaterFiles: setting({
    name: 'NA_HIGH_WATER_FILES',
    help: 'Comma list of high-water mark files, outside the database.',
    read: fileList,
    defaultText: 'with SQLite the database file with .mark appended, else none',
  }),
  requireSyncStandby: setting({
    name: 'NA_REQUIRE_SYNC_STANDBY',
    help: 'on refuses the start in HA mode without a synchronous standby.',
    read: onOff,
    default: false,
    defaultText: 'off',
  }),
} as const

export interface DatabaseChoice {
  readonly databaseLocation: DatabaseLocation
  readonly limiterStore: 'memory' | 'redis' | 'database'
  readonly highWaterFiles: readonly string[]
}

/** Returns where rows and limits are stored, with the problems between these settings. */
export function chooseDatabase(values: SettingValues<typeof DATABASE_SETTINGS>): {
  readonly choice: DatabaseChoice
  readonly problems: readonly string[]
} {
  const { haMode, redisUrl } = values
  const databaseLocation = databaseLocationOf(values)
  const { kind } = databaseLocation
  const shared = redisUrl === undefined ? 'database' : 'redis'
  const limiterStore = values.rateLimitStore ?? (kind === 'sqlite' ? 'memory' : shared)
  const problems: string[] = []
  if (values.databasePooler !== 'none' && kind !== 'postgres')
    problems.push('NA_DATABASE_POOLER: needs PostgreSQL (DATABASE_URL)')
  if (values.databaseReadUrl !== undefined && kind !== 'postgres')
    problems.push('DATABASE_READ_URL: needs PostgreSQL (DATABASE_URL)')
  if (haMode && kind !== 'postgres') problems.push('NA_HA_MODE: on needs PostgreSQL (DATABASE_URL)')
  if (haMode && limiterStore === 'memory') problems.push('NA_HA_MODE: on needs a shared limiter (RATE_LIMIT_STORE)')
  if (limiterStore === 'redis' && redisUrl === undefined)
    problems.push('REDIS_URL: is required with RATE_LIMIT_STORE=redis')
  const marks = databaseLocation.kind === 'sqlite' ? [`${databaseLocation.path}.mark`] : []
  return { choice: { databaseLocation, limiterStore, highWaterFiles: values.highWaterFiles ?? marks }, problems }
}

export function databaseLocationOf({
  databaseUrl: location,
  databasePooler: pooler,
  dbPath: path,
}: Pick<SettingValues<typeof DATABASE_SETTINGS>, 'databaseUrl' | 'databasePooler' | 'dbPath'>): DatabaseLocation {
  if (location === undefined) return { kind: 'sqlite', path }
  return location.kind === 'postgres' && pooler !== 'none' ? { ...location, pooler } : location
}

/** Settings that the problems of a database, and of several workers, are about. */
export const PROBLEM_NAMES = {
  database: ['databaseUrl', 'databaseReadUrl', 'databasePooler', 'dbPath', 'haMode', 'rateLimitStore', 'redisUrl'],
  workers: ['workers', 'databaseUrl', 'dbPath', 'rateLimitStore', 'redisUrl'],
} as const

/** Workers are instances that share a machine: they need what instances need. */
export function workerProblems(workers: number, { databaseLocation, limiterStore }: DatabaseChoice): string[] {
  if (workers === 1) return []
  if (databaseLocation.kind !== 'postgres')
    return ['NA_WORKERS: several workers need PostgreSQL: set DATABASE_URL=postgresql://…, or set NA_WORKERS=1']
  return limiterStore === 'memory'
    ? ['NA_WORKERS: several workers need a shared limiter: set RATE_LIMIT_STORE to database or redis']
    : []
}
