import { DAY, HOUR, instantOf, writeInstant, writeSortable } from '@chancery/protocol'
import type { GenesisBlock, Instant, JsonObject } from '@chancery/protocol'
import { type Check, type Finding, bad, good, runChecks, skipped, warn } from '@chancery/service-kit'
import type { OperatorCall } from '../../auth/operator.ts'
import { checkPartners, denialFindings } from './check-partners.ts'
import { type CheckedNetwork, type FindingsParts, checkLists } from './check-lists.ts'
import { readEvents } from '../../audit/list-events.ts'
import { type OperatorKey, type OperatorKeyring, checkRevoked, listRevokedKeys } from '../../auth/operator-keys.ts'
import { type Reader, findStoredBackup } from '../../database/database.ts'
import { sql } from 'kysely'
import { toWireTime } from '../../requests/list-position.ts'
import { checkSpeed, notReady } from '../health/index.ts'
import { checkInstances, checkNodes } from './check-nodes.ts'
import { checkApprovals } from './check-approvals.ts'
import { checkPolicies } from './check-policies.ts'
import { checkAnchors, checkBackup, checkDisk } from './check-storage.ts'

/** Creating, signing and rolling out a new block takes weeks. */
const WINDOW_WARNING = 30n * DAY

/** Checks how long the root key allows the authority key to be used. */
export function checkWindow({ network_authority }: GenesisBlock, now: Instant): Finding {
  const { valid_from, valid_to } = network_authority
  const [from, to] = [instantOf(valid_from), instantOf(valid_to)]
  const fix = 'Replace the key: chancery genesis succeed, then the steps of docs/operate/keys.md#replace-the-key.'
  if (now < from)
    return bad('key-window', `The key window begins ${valid_from}`, 'Check the clock, or wait until then.', {
      effect: 'The authority signs nothing.',
      at: valid_from,
    })
  if (now >= to)
    return bad('key-window', `The key window ended ${valid_to}`, fix, {
      effect: 'The authority signs nothing.',
      at: valid_to,
    })
  if (to - now < WINDOW_WARNING)
    return warn('key-window', `The key window of the genesis block ends ${valid_to}`, fix, {
      effect: 'Then the authority signs nothing.',
      at: valid_to,
    })
  return good('key-window', `until ${valid_to}`)
}

/** Refused calls of an hour that a mistyped key explains. */
const FEW_REFUSALS = 10
/** Events read for the count. */
const MAX_REFUSALS = 1000
const REFUSALS = ['admin_auth_failed', 'admin_authz_denied']

/** Checks that the loss of one key can be handled, and that no caller tries keys. */
async function checkOperatorKeys({ database, operators, now }: CheckedNetwork): Promise<readonly Finding[]> {
  const usable = await findUsableKeys(database.read, operators)
  return [checkUsable(usable), await checkRefusals(database.read, now)]
}

/** The configured keys that are not revoked, one for each public key. */
async function findUsableKeys(db: Reader, operators: OperatorKeyring): Promise<readonly OperatorKey[]> {
  const isRevoked = checkRevoked(await listRevokedKeys(db))
  const usable = [...operators.values()].filter((key) => !isRevoked(key))
  return [...new Map(usable.map((key) => [key.publicKey, key])).values()]
}

function checkUsable(usable: readonly OperatorKey[]): Finding {
  const [only] = usable
  if (!usable.some(({ tier }) => tier === 'privileged'))
    return bad(
      'operator-keys',
      only === undefined ? 'Every operator key is revoked' : 'No usable operator key is privileged',
      'Give a new key the tier privileged in OPERATOR_PUBLIC_KEYS_JSON and OPERATOR_KEY_TIERS_JSON, then restart.',
      { effect: 'No operator can revoke a certificate, an attestation or a treaty.' },
    )
  if (only === undefined || usable.length > 1) return good('operator-keys', `${usable.length} usable`)
  return warn(
    'operator-keys',
    `Only one operator key is usable: ${only.key_id}`,
    'Add a second operator: chancery operator add KEY_ID --key FILE --tier privileged.',
    { effect: 'If it is lost, no operator can revoke it.', about: only.key_id },
  )
}

async function checkRefusals(db: Reader, now: Instant): Promise<Finding> {
  const since = writeSortable(now - HOUR)
  const filter = { types: REFUSALS, subject: undefined, since, until: undefined, isNewestFirst: true }
  const { length } = await readEvents(db, filter, undefined, MAX_REFUSALS)
  if (length <= FEW_REFUSALS) return good('operator-refusals', `${length} in the last hour`)
  const count = length === MAX_REFUSALS ? `At least ${MAX_REFUSALS}` : `${length}`
  return warn(
    'operator-refusals',
    `${count} calls of operators were refused in the last hour`,
    'Find the addresses in the audit events admin_auth_failed and admin_authz_denied: chancery authority audit.',
    { effect: 'A caller may try keys, or a program uses an old one.' },
  )
}

/** What was done to set up this network. The console ticks its first steps with it. */
export type FirstSteps = {
  readonly invite_made: boolean
  readonly node_joined: boolean
  readonly policy_active: boolean
  readonly partner_added: boolean
  readonly usable_operator_keys: number
  /** Null before the first recorded backup. */
  readonly backup_at: string | null
}

async function readFirstSteps(parts: FindingsParts): Promise<FirstSteps> {
  const { database, enrollment, boundaryPolicies, operators } = parts
  const db = database.read
  const { issued } = await enrollment.certificates.read()
  return {
    // Used and old invites are removed. Every certificate had one.
    invite_made: issued > 0 || (await hasRows(db, 'invite_tokens')),
    node_joined: issued > 0,
    policy_active: (await boundaryPolicies.active.read()).length > 0,
    partner_added: (await hasRows(db, 'partners')) || (await hasRows(db, 'recognition_treaties')),
    usable_operator_keys: (await findUsableKeys(db, operators)).length,
    backup_at: toWireTime((await findStoredBackup(db)) ?? null),
  }
}

type Table = 'invite_tokens' | 'partners' | 'recognition_treaties'

async function hasRows(db: Reader, table: Table): Promise<boolean> {
  return (
    (await db
      .selectFrom(table)
      .select(sql<number>`1`.as('one'))
      .limit(1)
      .executeTakeFirst()) !== undefined
  )
}

const UNKNOWN = 'they could not be read or counted now'

/** The state of a network in its database: in the same words in the console and by `chancery doctor`. */
export const NETWORK: readonly Check<CheckedNetwork>[] = [
  { name: 'crl', find: checkLists },
  { name: 'treaty', find: checkPartners },
  {
    name: 'policies',
    find: ({ policies, now, probeCedar }) =>
      policies === undefined ? skipped('policies', UNKNOWN) : checkPolicies(policies, now, probeCedar),
  },
  {
    name: 'nodes-silent',
    find: (network) =>
      network.nodes === undefined ? skipped('nodes-silent', UNKNOWN) : checkNodes(network.nodes, network),
  },
  { name: 'approval_queue', find: checkApprovals },
  { name: 'evidence-anchors', find: checkAnchors },
  { name: 'backup', find: checkBackup },
  { name: 'disk-space', find: checkDisk },
  { name: 'operator-keys', find: checkOperatorKeys },
  { name: 'instances', find: checkInstances },
]

/** For each check: a hanging one is reported as not checked. */
const LIMIT_MS = 10_000

/** Findings of one response. A network with more has the count. */
const MAX_FINDINGS = 200

/**
 * GET /admin/findings
 * Returns what needs attention, bad before warnings, in the words of doctor. Checks of files, settings and the machine
 * are left to doctor: they need its user.
 */
export async function list(call: OperatorCall, parts: FindingsParts): Promise<JsonObject> {
  const now = parts.clock.now()
  const findings = await findAll(parts)
  const wrong = [...ofStatus(findings, 'bad'), ...ofStatus(findings, 'warn')]
  const wrongChecks = new Set(wrong.map(({ check }) => check))
  const passed = new Set(ofStatus(findings, 'good').map(({ check }) => check))
  return {
    checked_at: writeInstant(now),
    count: wrong.length,
    findings: wrong.slice(0, MAX_FINDINGS).map(view),
    passed: [...passed].filter((check) => !wrongChecks.has(check)),
    not_checked: [...new Set(ofStatus(findings, 'skipped').map(({ check }) => check))],
    first_steps: await readFirstSteps(parts),
  }
}

async function findAll(parts: FindingsParts): Promise<readonly Finding[]> {
  const { health, network, boundary, boundaryPolicies, roster, log } = parts
  const now = parts.clock.now()
  const [report, readiness, { deniedForFreshness }] = await Promise.all([
    health.reports.read(),
    health.readiness.read(),
    boundary.readRecentDecisions(),
  ])
  const policies = await boundaryPolicies.active.read()
  const nodes = await roster.countNodes()
  const windowSeconds = parts.activeWindow.seconds
  const probeCedar = (): ReturnType<typeof boundaryPolicies.probeCedar> => boundaryPolicies.probeCedar()
  const described = { ...parts, name: network.name, now, policies, nodes, windowSeconds, probeCedar }
  const found: Finding[] = []
  await runChecks(NETWORK, described, found, {
    limitMs: LIMIT_MS,
    failed: (check, error) => {
      log.warn('a check failed to run', { check, error })
      return skipped(check, UNKNOWN)
    },
  })
  return [
    report.reasons.includes('not_ready') ? notReady(readiness.reasons) : good('ready', 'ready'),
    ...report.findings,
    checkSpeed(health.databaseProbe.leastReadSeconds),
    checkWindow(network.genesis, now),
    ...found,
    ...(await parts.budgets.find()),
    ...denialFindings(deniedForFreshness),
  ]
}

function ofStatus(findings: readonly Finding[], wanted: Finding['status']): readonly Finding[] {
  return findings.filter(({ status }) => status === wanted)
}

function view({ check, status, found, fix, effect, about, at }: Finding): JsonObject {
  return { check, status, found, fix: fix ?? '', effect: effect ?? null, about: about ?? null, at: at ?? null }
}
