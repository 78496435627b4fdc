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
  const { url, given: pooler } = takeParameter(value, 'pooler')
  if (pooler === undefined) return { kind: 'postgres', url }
  if (pooler !== 'transaction') throw new SettingError('may have no pooler but ?pooler=transaction')
  return { kind: 'postgres', url, pooler }
}

const maxLag = integer({ min: 1, max: 300 })
const readUrl: Reader<{ readonly url: string; readonly maxLagSeconds: number }> = (value) => {
  if (!/^postgres(?:ql)?:\/\//.test(value) || !URL.canParse(value)) throw new SettingError('must be postgresql://…')
  const { url, given: lag = '5' } = takeParameter(value, 'max_lag')
  try {
    return { url, maxLagSeconds: maxLag(lag) }
  } catch {
    throw new SettingError('must have a whole number from 1 up to 300 as max_lag')
  }
}

/** Takes a parameter of ours out of a URL, which PostgreSQL would refuse. The rest stays letter by letter. */
function takeParameter(url: string, name: string): { readonly url: string; readonly given?: string } {
  // Passwords end before it.
  const start = url.includes('?') ? url.indexOf('?') : url.length
  const found = new RegExp(`([?&])${name}=([^&#]*)(&?)`).exec(url.slice(start))
  if (found === null) return { url }
  const [all, before = '', given = '', after] = found
  const place = start + found.index
  return { url: url.slice(0, place) + (after === '' ? '' : before) + url.slice(place + all.length), given }
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
    help: 'postgresql://… or sqlite:///path; used instead of DB_PATH. With ?pooler=transaction for a pooler in transaction mode, such as PgBouncer.',
    read: databaseUrl,
    secret: true,
    sharedName: true,
  }),
  databaseReadUrl: setting({
    name: 'DATABASE_READ_URL',
    help: 'postgresql://… of a streaming replica that answers searches and public material. When it is more than 5 seconds late (?max_lag=5, 1 to 300), the primary answers.',
    read: readUrl,
    secret: true,
    sharedName: true,
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
  dbPath: path,
}: Pick<SettingValues<typeof DATABASE_SETTINGS>, 'databaseUrl' | 'dbPath'>): DatabaseLocation {
  return location ?? { kind: 'sqlite', path }
}

/** Settings that the problems of a database, and of several workers, are about. */
export const PROBLEM_NAMES = {
  database: ['databaseUrl', 'databaseReadUrl', 'dbPath', 'haMode', 'rateLimitStore', 'redisUrl'],
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
