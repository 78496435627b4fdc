import { FORMER_SETTINGS, LIMITERS, LIMITS, type Limiter, type LimiterName, WINDOW_SECONDS } from '@chancery/contract'
import { SettingError, integer, onOff, oneOf, readSettings, setting, text } from '@chancery/service-kit'
import type {
  Reader,
  Setting,
  SettingDefinitions,
  SettingSources,
  SettingValues,
  SettingsResult,
} from '@chancery/service-kit'
import { type OperatorKeyring, buildKeyring } from '../auth/operator-keys.ts'
import type { KeySource } from '../signing/key-providers.ts'
import { APPROVAL_SETTINGS } from './approval-settings.ts'
import { DATABASE_SETTINGS, PROBLEM_NAMES, chooseDatabase, workerProblems } from './database-settings.ts'
import type { DatabaseChoice } from './database-settings.ts'
import { BUDGET_SETTINGS } from './budget-settings.ts'
import { LOG_SETTINGS, type LogWitness } from './log-settings.ts'
import { HEARTBEAT_SETTINGS } from './heartbeat-settings.ts'
import { INSTANCE_SETTINGS } from './instance-settings.ts'
import { KEY_SETTINGS, KEY_SETTING_NAMES, chooseKeys, seedNameOf, seedSettings } from './key-settings.ts'
import { OPERATOR_SETTINGS } from './operator-settings.ts'
import { OUTBOUND_SETTINGS } from './outbound-settings.ts'
import { STORAGE_SETTINGS } from './storage-settings.ts'
import { keyIdText, secondsOrOff, splitList, storedDays, trustDomain } from './readers.ts'

const roleList: Reader<readonly string[]> = (value) => {
  const entries = splitList(value)
  if (entries.some((entry) => !/^role:[A-Za-z0-9._:-]*\*?$/.test(entry)))
    throw new SettingError('must be a comma list of role:<name>, * at the end for a prefix')
  return entries
}

const exactRoles: Reader<readonly string[]> = (value) => {
  const entries = splitList(value)
  if (entries.some((entry) => !/^role:[A-Za-z0-9._:-]+$/.test(entry)))
    throw new SettingError('must be a comma list of role:<name>')
  return entries
}

/** Every setting of protocol/core 25 and trust operations: name, flag, reader, default, help. */
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
  ...DATABASE_SETTINGS,
  ...OPERATOR_SETTINGS,
  renewalGraceSeconds: setting({
    name: 'RENEWAL_GRACE_SECONDS',
    help: 'Seconds during which a renewed certificate is still valid.',
    read: integer({ min: 0, max: 31_536_000 }),
    default: LIMITS.renewalGraceSeconds,
  }),
  boundaryPolicyEnforcement: setting({
    name: 'BOUNDARY_POLICY_ENFORCEMENT',
    flag: '--boundary-policy-enforcement',
    help: 'required: no decision is allowed unless at least one policy applied to it.',
    read: oneOf('optional', 'required'),
    default: 'optional',
  }),
  requireParentKind: setting({
    name: 'NA_REQUIRE_PARENT_KIND',
    help: 'on refuses a decision on an agreement whose context lacks parent_kind (off: it counts as direct).',
    read: onOff,
    default: false,
    defaultText: 'off',
  }),
  nodeDecisions: setting({
    name: 'NA_NODE_DECISIONS',
    help: 'own: nodes request decisions on their own attestations with their own keys. partners: members of partners do, too.',
    read: oneOf('off', 'own', 'partners'),
    default: 'off',
  }),
  decisionRelayRoles: setting({
    name: 'NA_DECISION_RELAY_ROLES',
    help: 'Comma list of the roles whose nodes may request decisions for their callers.',
    read: exactRoles,
    default: [],
    defaultText: 'none',
  }),
  foreignFeedMaxAgeSeconds: setting({
    name: 'NA_FOREIGN_FEED_MAX_AGE_SECONDS',
    help: "Maximum age of a partner's revocation feed in decisions on its members, in seconds; 0: no feed is needed.",
    read: secondsOrOff(60, 2_592_000),
    default: 86_400,
  }),
  evidenceStore: setting({
    name: 'EVIDENCE_STORE',
    flag: '--evidence-store',
    help: 'on stores every decision in the tamper-evident evidence store.',
    read: onOff,
    default: false,
    defaultText: 'off',
  }),
  ...HEARTBEAT_SETTINGS,
  allowedRoles: setting({
    name: 'NA_ALLOWED_ROLES',
    help: 'Comma list of the roles that may be granted.',
    read: roleList,
    default: [],
    defaultText: 'every well-formed role',
  }),
  wimseTrustDomain: setting({
    name: 'NA_WIMSE_TRUST_DOMAIN',
    help: 'Trust domain of workload identity tokens, a host name in lower case. Without it, POST /wit is off.',
    read: trustDomain,
    defaultText: 'no tokens',
  }),
  publicAttestationList: setting({
    name: 'NA_PUBLIC_ATTESTATION_LIST',
    help: 'off: unauthenticated callers get the count only, and only operators get single attestations.',
    read: onOff,
    default: true,
    defaultText: 'on',
  }),
  feedRefreshSeconds: setting({
    name: 'NA_FEED_REFRESH_SECONDS',
    help: 'Age in seconds at which the own revocation feed is signed again with the same ids.',
    read: integer({ min: 60, max: 72_000 }),
    default: 43_200,
  }),
  feedPruneMarginSeconds: setting({
    name: 'NA_FEED_PRUNE_MARGIN_SECONDS',
    help: 'Seconds after the end of its attestation during which an id stays in the own revocation feed.',
    read: integer({ min: 0, max: 31_536_000 }),
    default: 86_400,
  }),
  genesisWindow: setting({
    name: 'NA_GENESIS_WINDOW',
    help: 'warn: the end of the key window in the genesis block is only logged.',
    read: oneOf('enforce', 'warn'),
    default: 'enforce',
  }),
  keyWarningDays: setting({
    name: 'NA_KEY_WARNING_DAYS',
    help: 'Days before the end of the key window from which /readyz and /health warn of it.',
    read: integer({ min: 1, max: 90 }),
    default: 14,
  }),
  clockCheck: setting({
    name: 'NA_CLOCK_CHECK',
    help: 'off skips the comparison with the database clock, for rehearsals.',
    read: onOff,
    default: true,
    defaultText: 'on',
  }),
  certificateKeptDays: setting({
    name: 'NA_CERTIFICATE_KEPT_DAYS',
    help: 'Days after its end during which a certificate is stored, 30 or more; 0: permanently.',
    read: storedDays(30),
    default: 400,
  }),
  auditKeptDays: setting({
    name: 'NA_AUDIT_KEPT_DAYS',
    help: 'Days during which forwarded or exported audit events are stored, 366 or more; 0: permanently. Other events stay.',
    read: storedDays(366),
    default: 0,
  }),
  ...BUDGET_SETTINGS,
  ...STORAGE_SETTINGS,
  ...OUTBOUND_SETTINGS,
  ...APPROVAL_SETTINGS,
  ...LOG_SETTINGS,
  ...INSTANCE_SETTINGS,
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

const LIMITER_NAMES = Object.keys(LIMIT_SETTINGS) as readonly LimiterName[]

function limitsOf(values: Readonly<Record<LimiterName, number>>): Record<LimiterName, number> {
  const limits = Object.fromEntries(LIMITER_NAMES.map((name) => [name, values[name]])) as Record<LimiterName, number>
  return { ...limits, operator_decision: Math.max(limits.operator_decision, limits.admin) }
}

/** All definitions, for the generated reference. */
export const ALL_AUTHORITY_SETTINGS: SettingDefinitions = { ...AUTHORITY_SETTINGS, ...LIMIT_SETTINGS }

export interface AuthoritySettings
  extends
    DatabaseChoice,
    Omit<
      RawSettings,
      | 'operatorPublicKeys'
      | 'operatorKeyTiers'
      | 'databaseUrl'
      | 'dbPath'
      | 'rateLimitStore'
      | 'drainSeconds'
      | 'logWitnesses'
      | keyof DatabaseChoice
    > {
  readonly limits: Readonly<Record<LimiterName, number>>
  readonly operators: OperatorKeyring
  /** The file that lists the operators; undefined when the settings do. */
  readonly operatorsFile: string | undefined
  readonly keySource: KeySource
  /** The last former key, which signs its own list. */
  readonly formerKeySource: KeySource | undefined
  readonly drainSeconds: number
  readonly logWitnesses: readonly LogWitness[]
  /** How many witnesses of the log must cosign. */
  readonly logQuorum: number
}

/** Reads every setting once and checks them against each other. Incomplete security settings stop the start. */
export function readAuthoritySettings(sources: SettingSources): SettingsResult<AuthoritySettings> {
  const seedName = seedNameOf(sources)
  const definitions = { ...AUTHORITY_SETTINGS, ...LIMIT_SETTINGS, ...seedSettings(seedName) }
  const reading = readSettings(definitions, sources, {
    prefixes: ['NA_'],
    extraNames: ['--env-file'],
    formerNames: FORMER_SETTINGS,
  })
  const { seed: _seed, seedFile: _seedFile, ...values } = reading.values
  const { keys: operatorKeys, tiers: fileTiers, file: operatorsFile } = values.operatorPublicKeys
  const operators = buildKeyring(operatorKeys, fileTiers ?? values.operatorKeyTiers)
  if (operatorsFile !== undefined && values.operatorKeyTiers.size > 0)
    reading.addProblems(
      ['operatorPublicKeys', 'operatorKeyTiers'],
      ['OPERATOR_KEY_TIERS_JSON: the operators file has the tiers; remove this setting'],
    )
  const { keySource, formerKeySource, ...keys } = chooseKeys(reading.values, seedName)
  const database = chooseDatabase(values)
  reading.addProblems(
    ['operatorPublicKeys', 'operatorKeyTiers'],
    operators.problems.map((problem) => `OPERATOR_PUBLIC_KEYS_JSON: ${problem}`),
  )
  reading.addProblems(KEY_SETTING_NAMES, keys.problems)
  reading.addProblems(PROBLEM_NAMES.database, database.problems)
  reading.addProblems(PROBLEM_NAMES.workers, workerProblems(values.workers, database.choice))
  return reading.finish(
    () =>
      keySource && {
        ...values,
        ...database.choice,
        limits: limitsOf(values),
        operators: operators.ring,
        operatorsFile,
        keySource,
        formerKeySource,
        logWitnesses: values.logWitnesses.witnesses,
        logQuorum: values.logWitnesses.quorum,
        drainSeconds: values.drainSeconds ?? (values.haMode ? 5 : 0),
      },
  )
}
