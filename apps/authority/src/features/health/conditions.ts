import { HOUR, type Instant, SECOND, readInstant } from '@chancery/protocol'
import { type Check, type Finding, bad, warn } from '@chancery/service-kit'
import { secondsToFloor } from '../../auth/node.ts'
import { countSyncStandbys } from '../../database/postgres/server-settings.ts'
import { isWindowEnding, whyOutsideWindow } from '../../signing/halt-reasons.ts'
import { LARGE_PART, findActiveVersion, partOfBound } from '../crl/index.ts'
import { countWitnessAlarms, findCosigned } from '../evidence-log/index.ts'
import { measureUnanchored } from '../evidence/index.ts'
import { findNextExpiry } from '../recognition-treaties/index.ts'
import { countStates } from '../partners/index.ts'
import { findOwnFeedTime, isOwnFeedNearFull } from '../revocation-feeds/index.ts'
import type { HealthParts, Readiness } from './readiness.ts'

interface RunningParts extends HealthParts {
  readonly ready: Readiness
}

/** One reason why an authority is not healthy (protocol/core 22.1). Its name is the code of the reason. */
export interface Condition extends Check<RunningParts, boolean> {
  readonly status: 'unhealthy' | 'degraded'
  /** Undefined where a check of the network, or the caller, reports the same with more facts. */
  readonly words: Finding | undefined
}

function condition(status: Condition['status'], name: string, find: Condition['find'], words?: Finding): Condition {
  return { status, name, find, words }
}

const unhealthy = condition.bind(undefined, 'unhealthy')
const degraded = condition.bind(undefined, 'degraded')

function isHaltedBy({ rollback }: HealthParts, reason: HealthParts['rollback']['reason']): boolean {
  return rollback.isHalted() && rollback.reason === reason
}

/** Lists and feeds are signed again after 12 hours. */
const OVERDUE = 18n * HOUR
/** How long the quorum of witnesses may be missing before it is reported. */
const UNWITNESSED = 900n * SECOND
/** How long a failure is reported after it has ended. */
const RECENT_MS = 300_000

export const MARK_MISSING =
  'Put the mark of the former host back at a path of NA_HIGH_WATER_FILES, or run chancery authority recover: docs/operate/backup.md.'
export const SYNC_CLOCK = 'Run a time service (chrony, systemd-timesyncd) here and on the database server.'
export const RESTORE_ROWS =
  'Find out who wrote to the database. Then chancery authority recover puts back what was signed.'

export const NO_REDIS: Finding = bad(
  'rate-limiter',
  'Redis does not respond: the database counts every call',
  'Fix REDIS_URL, or remove it to let the database count.',
)

export const NO_STANDBY: Finding = warn(
  'sync-standby',
  'The database has no synchronous standby: a failover may lose acknowledged writes',
  "Set up a standby and synchronous_standby_names = '*'.",
)

/** `reasons` are those of GET /readyz. */
export function notReady(reasons: readonly string[]): Finding {
  return bad(
    'ready',
    reasons.length === 0 ? 'The authority is not ready' : `The authority is not ready: ${reasons.join(', ')}`,
    'GET /readyz names the check that fails; docs/operate/monitoring.md says what to do.',
    { effect: 'A load balancer sends it no requests.' },
  )
}

/** All reasons of `GET /health` in the order of the response, the most serious first, with the words of their findings. */
export const CONDITIONS: readonly Condition[] = [
  unhealthy('not_ready', ({ ready }) => !ready.isReady),
  unhealthy('signing_key_window_over', (parts) => whyOutsideWindow(parts) === 'signing_key_window_over'),
  unhealthy('boundary_policies_unhealthy', async (parts) => !(await parts.boundaryPolicies.describe()).healthy),
  unhealthy(
    'evidence_store_unavailable',
    // Disabled because acknowledged evidence is missing. A database that does not respond is reported by not_ready.
    ({ settings, rollback }) => settings.evidenceStore && rollback.isEvidenceBehind,
    bad(
      'evidence-store',
      'Acknowledged evidence is missing, so the evidence store is disabled',
      'Import it with chancery authority recover: docs/operate/backup.md.',
      { effect: 'No decision is made.' },
    ),
  ),
  unhealthy(
    'state_rollback',
    (parts) => isHaltedBy(parts, 'state_rollback'),
    bad(
      'high-water',
      'The database is rolled back',
      'Restore a newer backup, or run chancery authority recover: docs/operate/backup.md.',
      { effect: 'The authority signs nothing.' },
    ),
  ),
  unhealthy(
    'mark_missing',
    (parts) => isHaltedBy(parts, 'mark_missing'),
    bad(
      'high-water',
      'mark_missing: the database has recorded a high-water mark, and no file of NA_HIGH_WATER_FILES has one',
      MARK_MISSING,
      { effect: 'It may be an old backup, so the authority refuses all requests.' },
    ),
  ),
  unhealthy(
    'clock_offset',
    ({ clockCheck }) => clockCheck.isHalted(),
    bad('clock', 'The clock of this instance differs from the clock of the database', SYNC_CLOCK, {
      effect: 'This instance signs nothing.',
    }),
  ),
  unhealthy(
    'signing_key_unavailable',
    ({ keyCheck }) => keyCheck.isHalted(),
    bad(
      'signing-key',
      'A key of the authority cannot sign: its token or key service does not respond, or refuses the PIN',
      'The log names the cause. Bring it back: docs/operate/incidents.md#lost-signing-key.',
      { effect: 'Nothing is signed. Stored lists are served until they end.' },
    ),
  ),
  degraded(
    'replay_floor',
    (parts) => secondsToFloor(parts) > 0,
    warn(
      'replay-floor',
      'Requests that were signed before the recovery are refused',
      'Wait five minutes after the recovery.',
    ),
  ),
  degraded('signing_key_window_ending', isWindowEnding),
  degraded('crl_overdue', async ({ database, clock }) =>
    isOverdue((await findActiveVersion(database.read))?.issuedAt, clock.now()),
  ),
  degraded(
    'crl_large',
    async ({ database }) => (partOfBound(await findActiveVersion(database.read)) ?? 0) >= LARGE_PART,
  ),
  degraded(
    'feed_overdue',
    async ({ database, clock }) => isOverdue(readInstant((await findOwnFeedTime(database.read)) ?? ''), clock.now()),
    bad(
      'feed',
      'The revocation feed of this network was not signed for 18 hours',
      'Is the authority ready? Look at job feed-refresh in /metrics and at the key provider.',
      { effect: 'Partners refuse its members when the feed is too old for them.' },
    ),
  ),
  degraded(
    'feed_near_full',
    ({ database }) => isOwnFeedNearFull(database.read),
    warn(
      'feed-size',
      'The revocation feed of this network has over 80 % of the ids it can have',
      'Issue attestations with a shorter validity: docs/operate/monitoring.md.',
    ),
  ),
  degraded('evidence_unanchored', isUnanchored),
  degraded(
    'audit_write_failed',
    ({ metrics }) => metrics.auditWriteFailures.isRecent(RECENT_MS),
    bad(
      'audit-writes',
      'Audit events could not be written in the last five minutes',
      'The log names the cause. Check the disk and the connection of the database.',
    ),
  ),
  degraded('limiter_fallback', ({ metrics }) => metrics.limiterFallbacks.isRecent(RECENT_MS), NO_REDIS),
  degraded(
    'treaty_lapsed',
    async ({ database, clock }) => (await findNextExpiry(database.read, clock.now())).lapsed > 0,
  ),
  degraded(
    'treaty_unverified',
    ({ recordFaults }) => recordFaults.has('treaties'),
    bad('treaties', 'A stored treaty is not as it was signed or revoked', RESTORE_ROWS, {
      effect: 'It counts for nothing, and no treaty is issued.',
    }),
  ),
  degraded(
    'evidence_log_contradicted',
    ({ recordFaults }) => recordFaults.has('evidenceLog'),
    bad(
      'evidence-log',
      'The public evidence log contradicts its last checkpoint',
      'Find out who wrote to the database, and put its table evidence_log_tiles back from a backup.',
      { effect: 'No checkpoint is signed.' },
    ),
  ),
  degraded(
    'evidence_log_witness_alarm',
    async ({ settings, database }) => settings.evidenceStore && (await countWitnessAlarms(database.read)) > 0,
    bad(
      'log-witness-alarm',
      'A witness has more entries of the public evidence log than this authority, or others: the database was rolled back or rewritten',
      'Run chancery evidence witnesses, restore a newer backup or import the lost evidence: docs/operate/witnesses.md.',
      { effect: 'With a proof of the witness, no checkpoint is signed.' },
    ),
  ),
  degraded(
    'evidence_log_unwitnessed',
    isUnwitnessed,
    warn(
      'log-witnesses',
      'The public evidence log has had fewer cosignatures than its quorum for 15 minutes',
      'Run chancery evidence witnesses to see which witness fails: docs/operate/witnesses.md.',
    ),
  ),
  degraded(
    'partner_alarm',
    async ({ database, clock }) => (await countStates(database.read, clock.now())).states.alarm > 0,
  ),
  degraded(
    'partner_stale',
    async ({ database, clock }) => (await countStates(database.read, clock.now())).states.stale > 0,
  ),
  degraded(
    'sync_standby_missing',
    async ({ settings, database }) => settings.haMode && (await countSyncStandbys(database)) < 1,
    NO_STANDBY,
  ),
  degraded('operators_differ', ({ operatorKeysCheck }) => operatorKeysCheck.isDiffering),
]

function isOverdue(issuedAt: Instant | undefined, now: Instant): boolean {
  return issuedAt !== undefined && now - issuedAt > OVERDUE
}

/** More than two intervals without an anchor. Never when anchors are made on request only. */
async function isUnanchored({ settings, database, clock }: HealthParts): Promise<boolean> {
  const { evidenceStore, anchorIntervalSeconds } = settings
  if (!evidenceStore || anchorIntervalSeconds === 0) return false
  const since = readInstant((await measureUnanchored(database.read)).since ?? '')
  return since !== undefined && clock.now() - since > 2n * BigInt(anchorIntervalSeconds) * SECOND
}

async function isUnwitnessed({ settings, database, clock }: HealthParts): Promise<boolean> {
  // Without witnesses in the settings no job updates the row.
  if (!settings.evidenceStore || settings.logQuorum === 0) return false
  const since = readInstant((await findCosigned(database.read))?.pending_since ?? '')
  return since !== undefined && clock.now() - since > UNWITNESSED
}
