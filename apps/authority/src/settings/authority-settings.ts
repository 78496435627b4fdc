import { LIMITERS, LIMITS, WINDOW_SECONDS } from '@chancery/contract'
import type { Limiter, LimiterName } from '@chancery/contract'
import { isKeyId } from '@chancery/protocol'
import {
  SettingError,
  SettingsError,
  findVariable,
  integer,
  jsonTextMap,
  noteSources,
  onOff,
  oneOf,
  readSettings,
  setting,
  text,
} from '@chancery/service-kit'
import type {
  Reader,
  Setting,
  SettingDefinitions,
  SettingRules,
  SettingSources,
  SettingValues,
} from '@chancery/service-kit'
import { buildKeyring } from '../auth/operator-keys.ts'
import type { OperatorKeyring } from '../auth/operator-keys.ts'
import { KEY_SETTINGS, chooseFormerSource, chooseKeySource } from './key-settings.ts'
import { operatorPairs } from './operator-flags.ts'
import { routeList } from '../requests/privileged-routes.ts'
import type { KeySource } from '../signing/key-providers.ts'
import type { DatabaseLocation } from '../database/open.ts'

const keyIdText: Reader<string> = (value) => {
  if (!isKeyId(value)) throw new SettingError('must be 1 to 128 characters of A-Z a-z 0-9 . _ : @ / + = -')
  return value
}

/** Days, or 0 for permanently; fewer than `least` would remove what other parts still read. */
function storedDays(least: number): Reader<number> {
  const days = integer({ min: 0, max: 36_500 })
  return (value) => {
    const number = days(value)
    if (number !== 0 && number < least) throw new SettingError(`must be 0 or a whole number from ${least}`)
    return number
  }
}

const databaseUrl: Reader<DatabaseLocation> = (value) => {
  if (value.startsWith('sqlite:///'))
    return { kind: 'sqlite', path: `/${value.slice('sqlite:///'.length).replace(/^\/+/, '')}` }
  if (!/^postgres(?:ql)?:\/\//.test(value) || !URL.canParse(value)) {
    throw new SettingError('must be postgresql://… or sqlite:///path')
  }
  return { kind: 'postgres', url: value }
}

const origin: Reader<string> = (value) => {
  const url = URL.canParse(value) ? new URL(value) : undefined
  const isOrigin =
    url !== undefined &&
    /^https?:$/.test(url.protocol) &&
    `${url.pathname}${url.search}${url.hash}${url.username}${url.password}` === '/'
  if (!isOrigin) throw new SettingError('must be an http(s) origin: scheme, host and optional port')
  return url.origin
}

const roleList: Reader<readonly string[]> = (value) => {
  const entries = value
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')
  for (const entry of entries) {
    if (!/^role:[A-Za-z0-9._:-]*\*?$/.test(entry))
      throw new SettingError('must be a comma list of role:<name>, * at the end for a prefix')
  }
  return entries
}

const fileList: Reader<readonly string[]> = (value) => {
  const files = value
    .split(',')
    .map((file) => file.trim())
    .filter((file) => file !== '')
  if (new Set(files).size !== files.length) throw new SettingError('must name each file once')
  return files
}

const redisUrl: Reader<string> = (value) => {
  if (!/^rediss?:\/\//.test(value) || !URL.canParse(value)) throw new SettingError('must be redis://… or rediss://…')
  return value
}

const natsUrl: Reader<string> = (value) => {
  if (!/^(?:nats|tls):\/\//.test(value) || !URL.canParse(value)) throw new SettingError('must be nats://… or tls://…')
  return value
}

const natsName: Reader<string> = (value) => {
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(value)) throw new SettingError('must be 1 to 64 characters of A-Z a-z 0-9 _ -')
  return value
}

const natsSubject: Reader<string> = (value) => {
  if (!/^[A-Za-z0-9_-]{1,64}(?:\.[A-Za-z0-9_-]{1,64}){0,7}$/.test(value))
    throw new SettingError('must be words of A-Z a-z 0-9 _ - joined by dots')
  return value
}

/** Read by `chancery audit forward`; the authority itself sends nothing anywhere. */
const AUDIT_SETTINGS = {
  auditNatsUrl: setting({
    name: 'NA_AUDIT_NATS_URL',
    help: 'NATS server that chancery audit forward sends to.',
    read: natsUrl,
    secret: true,
  }),
  auditNatsCredsFile: setting({ name: 'NA_AUDIT_NATS_CREDS_FILE', help: 'Credentials file for it.', read: text }),
  auditNatsCaFile: setting({
    name: 'NA_AUDIT_NATS_CA_FILE',
    help: 'Root certificate its TLS is checked by.',
    read: text,
  }),
  auditNatsStream: setting({
    name: 'NA_AUDIT_NATS_STREAM',
    help: 'JetStream stream; made when it is missing.',
    read: natsName,
    default: 'CHANCERY_AUDIT',
  }),
  auditNatsSubject: setting({
    name: 'NA_AUDIT_NATS_SUBJECT',
    help: 'Events go to this subject with their type appended.',
    read: natsSubject,
    default: 'chancery.audit',
  }),
} as const

/** Every setting of protocol/core 25 and trust operations, in one list: name, flag, reader, default, help. */
const AUTHORITY_SETTINGS = {
  genesisFile: setting({
    name: 'GENESIS_FILE',
    flag: '--genesis',
    help: 'The signed genesis block.',
    read: text,
    required: true,
  }),
  ...KEY_SETTINGS,
  keyId: setting({
    name: 'NA_KEY_ID',
    flag: '--key-id',
    help: 'Key id written into signatures.',
    read: keyIdText,
    default: 'na-2025-q1',
  }),
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
    help: 'postgresql://… or sqlite:///path; overrules DB_PATH.',
    read: databaseUrl,
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
    help: 'Redis of the shared limiter.',
    read: redisUrl,
    secret: true,
    sharedName: true,
  }),
  operatorPublicKeys: setting({
    name: 'OPERATOR_PUBLIC_KEYS_JSON',
    flag: '--operator-public-key',
    help: 'Object key id → base64 public key; the flag takes <key-id>=<base64 or .pub file> and may be repeated.',
    read: jsonTextMap,
    readFlags: (texts) => operatorPairs(texts, 'key'),
    default: new Map(),
    defaultText: '{}',
  }),
  operatorKeyTiers: setting({
    name: 'OPERATOR_KEY_TIERS_JSON',
    flag: '--operator-key-tier',
    help: 'Object key id → standard or privileged; the flag takes <key-id>=<tier> and may be repeated.',
    read: jsonTextMap,
    readFlags: (texts) => operatorPairs(texts, 'tier'),
    default: new Map(),
    defaultText: '{}',
  }),
  renewalGraceSeconds: setting({
    name: 'RENEWAL_GRACE_SECONDS',
    help: 'How long a renewed certificate still works.',
    read: integer({ min: 0, max: 31_536_000 }),
    default: LIMITS.renewalGraceSeconds,
  }),
  boundaryPolicyEnforcement: setting({
    name: 'BOUNDARY_POLICY_ENFORCEMENT',
    flag: '--boundary-policy-enforcement',
    help: 'required refuses decisions made without policies.',
    read: oneOf('optional', 'required'),
    default: 'optional',
  }),
  requireParentKind: setting({
    name: 'NA_REQUIRE_PARENT_KIND',
    help: 'on refuses a decision on an agreement whose context leaves parent_kind out (it would count as direct).',
    read: onOff,
    default: false,
    defaultText: 'off',
  }),
  evidenceStore: setting({
    name: 'EVIDENCE_STORE',
    flag: '--evidence-store',
    help: 'Keeps every decision in the tamper-evident store.',
    read: onOff,
    default: false,
    defaultText: 'off',
  }),
  evidenceRejections: setting({
    name: 'NA_EVIDENCE_REJECTIONS',
    help: 'entries puts refused evidence into the chain; table keeps it beside, for verifiers that do not know such entries.',
    read: oneOf('entries', 'table'),
    default: 'entries',
  }),
  anchorIntervalSeconds: setting({
    name: 'NA_ANCHOR_INTERVAL_SECONDS',
    help: 'Automatic evidence anchors; 0 makes them on request only.',
    read: integer({ min: 0, max: 31_536_000 }),
    default: 3600,
  }),
  listReaderBytes: setting({
    name: 'NA_LIST_READER_BYTES',
    help: 'Smallest bound of those who read the revocation list (GATEWAY_MAX_LIST_BYTES, maxResponseBytes). From half of it on, health, doctor and log say that the list is large.',
    read: integer({ min: 1_048_576, max: 1_073_741_824 }),
    default: 67_108_864,
  }),
  maxRequestBytes: setting({
    name: 'NA_MAX_REQUEST_BYTES',
    help: 'Largest request body; feed import takes four times that.',
    read: integer({ min: 1, max: 268_435_456 }),
    default: LIMITS.requestBodyBytes,
  }),
  proxyHops: setting({
    name: 'NA_PROXY_HOPS',
    help: 'Proxies in front whose X-Forwarded-* headers are believed.',
    read: integer({ min: 0, max: 16 }),
    default: 0,
  }),
  heartbeatSeconds: setting({
    name: 'NA_HEARTBEAT_SECONDS',
    help: 'Pace asked of nodes.',
    read: integer({ min: 10, max: 900 }),
    default: 60,
  }),
  publicUrl: setting({
    name: 'NA_PUBLIC_URL',
    help: 'Base of every URL in documents; otherwise that of the request.',
    read: origin,
  }),
  consoleKeyIdleMinutes: setting({
    name: 'NA_CONSOLE_KEY_IDLE_MINUTES',
    help: 'After how many minutes without input the page /operator forgets the key it holds.',
    read: integer({ min: 1, max: 1440 }),
    default: 15,
  }),
  allowedRoles: setting({
    name: 'NA_ALLOWED_ROLES',
    help: 'Comma list narrowing which roles may be granted.',
    read: roleList,
    default: [],
    defaultText: 'every well-formed role',
  }),
  publicAttestationList: setting({
    name: 'NA_PUBLIC_ATTESTATION_LIST',
    help: 'off answers strangers with the count only, and gives single attestations to operators only.',
    read: onOff,
    default: true,
    defaultText: 'on',
  }),
  ownOfferAcceptance: setting({
    name: 'NA_OWN_OFFER_ACCEPTANCE',
    help: 'second-key: an own offer is not accepted by the operator key that made it.',
    read: oneOf('any-key', 'second-key'),
    default: 'any-key',
  }),
  privilegedRoutes: setting({
    name: 'NA_PRIVILEGED_ROUTES',
    help: 'Comma list of operator routes (POST /admin/trust-evidence) that only privileged keys may call.',
    read: routeList,
    default: new Set<string>(),
    defaultText: 'none',
  }),
  feedRefreshSeconds: setting({
    name: 'NA_FEED_REFRESH_SECONDS',
    help: 'Age at which the own revocation feed is signed again with the same ids.',
    read: integer({ min: 60, max: 72_000 }),
    default: 43_200,
  }),
  feedPruneMarginSeconds: setting({
    name: 'NA_FEED_PRUNE_MARGIN_SECONDS',
    help: 'How long after its attestation has ended an id stays in the own revocation feed.',
    read: integer({ min: 0, max: 31_536_000 }),
    default: 86_400,
  }),
  instanceId: setting({
    name: 'NA_INSTANCE_ID',
    help: 'Name of this instance in the readiness document.',
    read: keyIdText,
    defaultText: '12 random hex digits',
  }),
  genesisWindow: setting({
    name: 'NA_GENESIS_WINDOW',
    help: 'warn only logs when the key window of the genesis block is over.',
    read: oneOf('enforce', 'warn'),
    default: 'enforce',
  }),
  inviteKeptDays: setting({
    name: 'NA_INVITE_KEPT_DAYS',
    help: 'How many days after its end an invite can still be listed.',
    read: integer({ min: 1, max: 3650 }),
    default: 30,
  }),
  certificateKeptDays: setting({
    name: 'NA_CERTIFICATE_KEPT_DAYS',
    help: 'How many days after its end a certificate is stored, 30 or more; 0: permanently.',
    read: storedDays(30),
    default: 400,
  }),
  auditKeptDays: setting({
    name: 'NA_AUDIT_KEPT_DAYS',
    help: 'How many days audit events are stored that were forwarded or exported under a name, 366 or more; 0: permanently.',
    read: storedDays(366),
    default: 0,
  }),
  rejectionKeptDays: setting({
    name: 'NA_REJECTION_KEPT_DAYS',
    help: 'How many days refused evidence is kept in the table beside the chain.',
    read: integer({ min: 1, max: 3650 }),
    default: 90,
  }),
  keyWarningDays: setting({
    name: 'NA_KEY_WARNING_DAYS',
    help: 'How many days before its end /readyz and /health warn of the end of the key window.',
    read: integer({ min: 1, max: 90 }),
    default: 14,
  }),
  clockCheck: setting({
    name: 'NA_CLOCK_CHECK',
    help: 'off skips the comparison with the database clock (rehearsals).',
    read: onOff,
    default: true,
    defaultText: 'on',
  }),
  drainSeconds: setting({
    name: 'NA_DRAIN_SECONDS',
    help: 'How long a stopping instance still serves.',
    read: integer({ min: 0, max: 300 }),
    defaultText: '0, in HA mode 5',
  }),
  highWaterFiles: setting({
    name: 'NA_HIGH_WATER_FILES',
    help: 'Comma list of files outside the database that keep how far it has come.',
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
  coreDumps: setting({
    name: 'NA_CORE_DUMPS',
    help: 'warn starts in HA mode although a crash may write the memory, with the signing key, to a disk (containers cannot change it).',
    read: oneOf('refuse', 'warn'),
    default: 'refuse',
  }),
  ...AUDIT_SETTINGS,
  host: setting({
    name: 'HOST',
    flag: '--host',
    help: 'Listening address.',
    read: text,
    default: '127.0.0.1',
    sharedName: true,
  }),
  port: setting({
    name: 'PORT',
    flag: '--port',
    help: 'Listening port.',
    read: integer({ min: 0, max: 65_535 }),
    default: 8443,
    sharedName: true,
  }),
  managementHost: setting({
    name: 'NA_MANAGEMENT_HOST',
    flag: '--management-host',
    help: 'Listening address of the management listener.',
    read: text,
    default: '127.0.0.1',
  }),
  managementPort: setting({
    name: 'NA_MANAGEMENT_PORT',
    flag: '--management-port',
    help: 'Port of a second listener for /metrics and the checks of /readyz, which the first then does not show.',
    read: integer({ min: 0, max: 65_535 }),
    defaultText: 'no second listener',
  }),
  logLevel: setting({
    name: 'LOG_LEVEL',
    help: 'Least severe events to log.',
    read: oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal'),
    default: 'info',
  }),
  accessLogLevel: setting({
    name: 'NA_ACCESS_LOG_LEVEL',
    help: 'Level of the line about each request; off writes lines about failures only.',
    read: oneOf('off', 'debug', 'info'),
    default: 'info',
  }),
  accessLogEvery: setting({
    name: 'NA_ACCESS_LOG_EVERY',
    help: 'Of so many ordinary requests one has a line. Refusals, failures and slow requests have one each.',
    read: integer({ min: 1, max: 1_000_000 }),
    default: 1,
  }),
  accessLogSlowMs: setting({
    name: 'NA_ACCESS_LOG_SLOW_MS',
    help: 'From how many milliseconds on a request is slow.',
    read: integer({ min: 1, max: 300_000 }),
    default: 1000,
  }),
  logFormat: setting({
    name: 'LOG_FORMAT',
    help: 'Form of log lines.',
    read: oneOf('text', 'json'),
    defaultText: 'text on a terminal, else json',
  }),
} as const

type RawSettings = SettingValues<typeof AUTHORITY_SETTINGS>

/** One setting per limiter, from the contract's table. */
const LIMIT_SETTINGS: Readonly<Record<LimiterName, Setting<number>>> = Object.fromEntries(
  Object.entries<Limiter>(LIMITERS).map(([name, facts]) => [
    name,
    setting({
      name: facts.setting,
      help: `Calls of limiter ${name} per ${facts.windowSeconds ?? WINDOW_SECONDS} s.`,
      read: integer({ min: facts.minimum, max: 1_000_000_000 }),
      default: facts.default,
    }),
  ]),
) as Record<LimiterName, Setting<number>>

/** All definitions, for the generated reference. */
export const ALL_AUTHORITY_SETTINGS: SettingDefinitions = { ...AUTHORITY_SETTINGS, ...LIMIT_SETTINGS }

export interface AuthoritySettings extends Omit<
  RawSettings,
  | 'operatorPublicKeys'
  | 'operatorKeyTiers'
  | 'databaseUrl'
  | 'dbPath'
  | 'rateLimitStore'
  | 'drainSeconds'
  | 'highWaterFiles'
> {
  readonly limits: Readonly<Record<LimiterName, number>>
  readonly operators: OperatorKeyring
  readonly keySource: KeySource
  /** The last former key, which signs its own list. */
  readonly formerKeySource: KeySource | undefined
  readonly databaseLocation: DatabaseLocation
  readonly limiterStore: 'memory' | 'redis' | 'database'
  readonly drainSeconds: number
  readonly highWaterFiles: readonly string[]
}

/** Reads and cross-checks everything; every problem is reported at once, half-configured security stops the start. */
export function readAuthoritySettings(sources: SettingSources): AuthoritySettings {
  const seedName = seedNameOf(sources)
  const rules = rulesFor(seedName)
  const problems = new Set<string>()
  const failed = new Set<string>()
  try {
    readSettings({}, sources, rules)
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error
    for (const problem of error.problems) problems.add(problem)
  }
  // Unknown names are reported above, once; below each setting is asked for itself.
  const known = new Set(rules.extraNames)
  const flags = Object.fromEntries(Object.entries(sources.flags).filter(([flag]) => known.has(flag)))
  const each = { ...rules, prefixes: [] }
  // One by one, so that what is wrong with one setting does not hide what is wrong between others.
  const values: Record<string, unknown> = {}
  for (const [key, definition] of Object.entries(ALL_AUTHORITY_SETTINGS)) {
    try {
      values[key] = readSettings({ [key]: definition }, { ...sources, flags }, each)[key]
    } catch (error) {
      if (!(error instanceof SettingsError)) throw error
      for (const problem of error.problems) problems.add(problem)
      failed.add(definition.name)
      values[key] = definition.default
    }
  }
  // Every key was read by its own definition, which the compiler cannot follow.
  const raw = values as unknown as RawSettings
  const limits = Object.fromEntries(Object.keys(LIMIT_SETTINGS).map((name) => [name, values[name]])) as Record<
    LimiterName,
    number
  >
  const { keySource, formerKeySource, problems: between } = crossCheck(raw, sources, seedName, failed)
  for (const problem of between) problems.add(problem)
  if (problems.size > 0 || keySource === undefined) throw new SettingsError([...problems])
  const databaseLocation = locationOf(raw)
  return {
    ...raw,
    limits,
    operators: buildKeyring(raw.operatorPublicKeys, raw.operatorKeyTiers).ring,
    keySource,
    formerKeySource,
    databaseLocation,
    limiterStore: raw.rateLimitStore ?? defaultLimiterStore(raw, databaseLocation),
    highWaterFiles: raw.highWaterFiles ?? (databaseLocation.kind === 'sqlite' ? [`${databaseLocation.path}.mark`] : []),
    drainSeconds: raw.drainSeconds ?? (raw.haMode ? 5 : 0),
  }
}

function seedNameOf(sources: SettingSources): string {
  return findVariable(sources, 'NA_KEY_SEED_ENV') ?? 'NA_PRIVATE_KEY_SEED'
}

function rulesFor(seedName: string): Required<SettingRules> {
  const names = Object.values(ALL_AUTHORITY_SETTINGS).flatMap((one) => [one.name, one.flag ?? one.name])
  return { prefixes: ['NA_'], extraNames: [seedName, `${seedName}_FILE`, '--env-file', ...names] }
}

/** What differs between environment and settings file, by name: for the start log. */
export function noteAuthoritySources(sources: SettingSources): readonly string[] {
  const seedName = seedNameOf(sources)
  const seeds = [seedName, `${seedName}_FILE`].map((name) => [name, setting({ name, help: '', read: text })] as const)
  return noteSources({ ...ALL_AUTHORITY_SETTINGS, ...Object.fromEntries(seeds) }, sources, rulesFor(seedName))
}

/** Only where the key is: for a network that has no genesis block yet. */
export function readKeySource(sources: SettingSources): KeySource {
  const seedName = seedNameOf(sources)
  const raw = readSome(KEY_SETTINGS, sources, [seedName, `${seedName}_FILE`])
  const { source, problem } = chooseKeySource(raw, sources, seedName)
  if (source === undefined) throw new SettingsError([problem ?? 'NA_KEY_PROVIDER: names no key'])
  return source
}

/** Only where audit events are and where they go: a machine that forwards them needs no key. */
export function readAuditSettings(sources: SettingSources): AuditSettings {
  const { databaseUrl: url, dbPath } = AUTHORITY_SETTINGS
  const raw = readSome({ databaseUrl: url, dbPath, ...AUDIT_SETTINGS }, sources)
  const { databaseUrl: place, dbPath: path, ...audit } = raw
  return { ...audit, databaseLocation: place ?? { kind: 'sqlite', path } }
}

export interface AuditSettings extends SettingValues<typeof AUDIT_SETTINGS> {
  readonly databaseLocation: DatabaseLocation
}

/** Some settings, whatever else the same sources hold for others. */
function readSome<Definitions extends SettingDefinitions>(
  definitions: Definitions,
  sources: SettingSources,
  extraNames: readonly string[] = [],
): SettingValues<Definitions> {
  const own = new Set(Object.values(definitions).map(({ flag }) => flag))
  const flags = Object.fromEntries(Object.entries(sources.flags).filter(([flag]) => own.has(flag)))
  return readSettings(definitions, { ...sources, flags }, { prefixes: [], extraNames })
}

/** What is wrong between settings that are each well formed; a setting that failed by itself is not blamed twice. */
function crossCheck(
  raw: RawSettings,
  sources: SettingSources,
  seedName: string,
  failed: ReadonlySet<string>,
): {
  readonly keySource: KeySource | undefined
  readonly formerKeySource: KeySource | undefined
  readonly problems: readonly string[]
} {
  const problems: string[] = []
  const isRead = (...names: string[]): boolean => names.every((name) => !failed.has(name))
  if (isRead('OPERATOR_PUBLIC_KEYS_JSON', 'OPERATOR_KEY_TIERS_JSON')) {
    const keyring = buildKeyring(raw.operatorPublicKeys, raw.operatorKeyTiers)
    problems.push(...keyring.problems.map((problem) => `OPERATOR_PUBLIC_KEYS_JSON: ${problem}`))
  }
  const isKeyRead = isRead(...Object.values(KEY_SETTINGS).map(({ name }) => name))
  const chosen = isKeyRead ? chooseKeySource(raw, sources, seedName) : {}
  const former = isKeyRead ? chooseFormerSource(raw, chosen.source) : {}
  for (const { problem } of [chosen, former]) if (problem !== undefined) problems.push(problem)
  if (isRead('DATABASE_URL', 'DB_PATH', 'NA_HA_MODE', 'RATE_LIMIT_STORE', 'REDIS_URL')) {
    const place = locationOf(raw)
    const limiterStore = raw.rateLimitStore ?? defaultLimiterStore(raw, place)
    if (raw.haMode && place.kind !== 'postgres') problems.push('NA_HA_MODE: on needs PostgreSQL (DATABASE_URL)')
    if (raw.haMode && limiterStore === 'memory')
      problems.push('NA_HA_MODE: on needs a shared limiter (RATE_LIMIT_STORE)')
    const lacksRedis = limiterStore === 'redis' && raw.redisUrl === undefined
    if (lacksRedis) problems.push('REDIS_URL: is required with RATE_LIMIT_STORE=redis')
  }
  return { keySource: chosen.source, formerKeySource: former.source, problems }
}

function locationOf(raw: RawSettings): DatabaseLocation {
  return raw.databaseUrl ?? { kind: 'sqlite', path: raw.dbPath }
}

function defaultLimiterStore(raw: RawSettings, place: DatabaseLocation): 'memory' | 'redis' | 'database' {
  if (place.kind === 'sqlite') return 'memory'
  return raw.redisUrl === undefined ? 'database' : 'redis'
}
