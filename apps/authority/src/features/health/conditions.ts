import { DAY, HOUR, SECOND, fromBase64, readInstant, sha256Hex, writeSortable } from '@chancery/protocol'
import type { Instant, JsonObject } from '@chancery/protocol'
import { secondsToFloor } from '../../auth/node.ts'
import { countSyncStandbys } from '../../database/postgres/server-settings.ts'
import type { HealthParts } from './parts.ts'
import { isWindowEnding, keyWindow, whyOutsideWindow } from '../../signing/key-window.ts'
import { LARGE_PART, findActiveVersion, partOfBound } from '../crl/index.ts'
import { countWitnessAlarms, findCosigned } from '../evidence-log/index.ts'
import { measureUnanchored } from '../evidence/index.ts'
import { findNextExpiry } from '../recognition-treaties/index.ts'
import { countStates } from '../partners/index.ts'
import { findOwnFeedTime, isOwnFeedNearFull } from '../revocation-feeds/index.ts'
import { WORKERS_RESTART } from '@chancery/service-kit'
import type { DatabaseProbe } from './database-probe.ts'
import { haltReasons } from '../../signing/signing-halt.ts'

export interface Readiness {
  readonly isReady: boolean
  /** All reasons for not being ready. */
  readonly reasons: readonly string[]
  /** The same members whether ready or not (protocol/core 22.1). */
  readonly checks: JsonObject
}

/** Checks everything that a request needs. */
export async function checkReadiness(parts: HealthParts, probe: DatabaseProbe): Promise<Readiness> {
  const { database, schema, limiterResponds } = await probe.read()
  const isWritable = database['writable'] === true
  const refusesGrowth = (await parts.database.room.refusesGrowth().catch(() => undefined)) !== undefined
  const reasons = [
    ...(parts.isServing() ? [] : ['stopping']),
    ...(isWritable ? [] : ['database_unavailable', ...(database['error'] === 'DiskFullError' ? ['disk_full'] : [])]),
    ...(schema === 'other' ? ['schema_version'] : []),
    ...parts.signing.findObstacles(),
    ...parts.recordFaults.halts,
    ...(limiterResponds ? [] : ['rate_limiter_unavailable']),
  ]
  const { signer } = parts.signing
  const { valid_to, expires_in_seconds } = keyWindow(parts)
  const halts = [...haltReasons(parts.signing.halts), ...parts.recordFaults.halts]
  const warnings = [
    ...(isWindowEnding(parts) ? ['signing_key_window_ending'] : []),
    ...(secondsToFloor(parts) > 0 ? ['replay_floor'] : []),
    // Served until it is stopped, so that the instances of a release do not all stop at once (see migrate.ts).
    ...(schema === 'newer' ? ['newer_schema'] : []),
    ...(parts.doWorkersRestart() ? [WORKERS_RESTART] : []),
    ...(refusesGrowth ? ['disk_low'] : []),
    ...parts.recordFaults.warnings,
  ]
  const checks = {
    instance: parts.instance,
    ha_mode: parts.settings.haMode ? 'on' : 'off',
    database,
    signing_key: {
      key_id: signer.keyId,
      provider: signer.provider,
      fingerprint: sha256Hex(fromBase64(signer.publicKey) ?? new Uint8Array()),
      valid_to,
      expires_in_seconds,
    },
    rate_limiter: parts.limits.shared.name,
    // Only present if there is one: the members of a ready document are fixed.
    ...(halts.length > 0 ? { signing_halted: halts } : {}),
    ...(warnings.length > 0 ? { warnings } : {}),
    ...(reasons.length > 0 ? { reasons } : {}),
  }
  return { isReady: reasons.length === 0, reasons, checks }
}

/** One reason why an authority is not healthy (protocol/core 22.1). */
export interface Condition {
  readonly code: string
  readonly status: 'unhealthy' | 'degraded'
  /** A rejection means that the check failed; then the authority is not healthy. */
  holds(parts: HealthParts, readiness: Readiness): boolean | Promise<boolean>
}

function isHaltedBy(rollback: HealthParts['rollback'], reason: HealthParts['rollback']['reason']): boolean {
  return rollback.isHalted() && rollback.reason === reason
}

/** Lists and feeds are signed again after 12 hours. */
const OVERDUE = 18n * HOUR
/** How long a treaty that ended without a successor is reported. */
const LAPSED_WITHIN = 7n * DAY
/** How long the quorum of witnesses may be missing before it is reported. */
const UNWITNESSED = 900n * SECOND
/** How long a failure is reported after it has ended. */
const RECENT_MS = 300_000

/** All reasons of `GET /health` in the order of the response, the most serious first. */
export const CONDITIONS: readonly Condition[] = [
  { code: 'not_ready', status: 'unhealthy', holds: (_parts, { isReady }) => !isReady },
  { code: 'signing_key_window_over', status: 'unhealthy', holds: isWindowOver },
  { code: 'boundary_policies_unhealthy', status: 'unhealthy', holds: async (parts) => !(await isSetHealthy(parts)) },
  { code: 'evidence_store_unavailable', status: 'unhealthy', holds: isEvidenceClosed },
  { code: 'state_rollback', status: 'unhealthy', holds: ({ rollback }) => isHaltedBy(rollback, 'state_rollback') },
  { code: 'mark_missing', status: 'unhealthy', holds: ({ rollback }) => isHaltedBy(rollback, 'mark_missing') },
  { code: 'clock_offset', status: 'unhealthy', holds: ({ clockCheck }) => clockCheck.isHalted() },
  { code: 'signing_key_unavailable', status: 'unhealthy', holds: ({ keyCheck }) => keyCheck.isHalted() },
  { code: 'replay_floor', status: 'degraded', holds: (parts) => secondsToFloor(parts) > 0 },
  { code: 'signing_key_window_ending', status: 'degraded', holds: isWindowEnding },
  { code: 'crl_overdue', status: 'degraded', holds: isListOverdue },
  { code: 'crl_large', status: 'degraded', holds: isListLarge },
  { code: 'feed_overdue', status: 'degraded', holds: isFeedOverdue },
  { code: 'feed_near_full', status: 'degraded', holds: ({ database }) => isOwnFeedNearFull(database.read) },
  { code: 'evidence_unanchored', status: 'degraded', holds: isUnanchored },
  {
    code: 'audit_write_failed',
    status: 'degraded',
    holds: ({ metrics }) => metrics.auditWriteFailures.isRecent(RECENT_MS),
  },
  {
    code: 'limiter_fallback',
    status: 'degraded',
    holds: ({ metrics }) => metrics.limiterFallbacks.isRecent(RECENT_MS),
  },
  { code: 'treaty_lapsed', status: 'degraded', holds: hasLapsedTreaty },
  { code: 'treaty_unverified', status: 'degraded', holds: ({ recordFaults }) => recordFaults.has('treaties') },
  {
    code: 'evidence_log_contradicted',
    status: 'degraded',
    holds: ({ recordFaults }) => recordFaults.has('evidenceLog'),
  },
  { code: 'evidence_log_witness_alarm', status: 'degraded', holds: hasWitnessAlarm },
  { code: 'evidence_log_unwitnessed', status: 'degraded', holds: isUnwitnessed },
  { code: 'partner_alarm', status: 'degraded', holds: async (parts) => (await readStates(parts)).alarm > 0 },
  { code: 'partner_stale', status: 'degraded', holds: async (parts) => (await readStates(parts)).stale > 0 },
  { code: 'sync_standby_missing', status: 'degraded', holds: isStandbyMissing },
  { code: 'operators_differ', status: 'degraded', holds: ({ operatorKeysCheck }) => operatorKeysCheck.isDiffering },
]

async function readStates({
  database,
  clock,
}: HealthParts): Promise<Awaited<ReturnType<typeof countStates>>['states']> {
  return (await countStates(database.read, clock.now())).states
}

function isWindowOver(parts: HealthParts): boolean {
  return whyOutsideWindow(parts) === 'signing_key_window_over'
}

async function isSetHealthy(parts: HealthParts): Promise<boolean> {
  return (await parts.boundaryPolicies.describe()).healthy
}

/** Disabled because acknowledged evidence is missing. A database that does not respond is reported by not_ready. */
async function isEvidenceClosed({ settings, rollback }: HealthParts): Promise<boolean> {
  return settings.evidenceStore && rollback.isEvidenceBehind
}

async function isListOverdue({ database, clock }: HealthParts): Promise<boolean> {
  return isOverdue((await findActiveVersion(database.read))?.issuedAt, clock.now())
}

async function isListLarge({ database, settings }: HealthParts): Promise<boolean> {
  return (partOfBound(await findActiveVersion(database.read), settings) ?? 0) >= LARGE_PART
}

async function isFeedOverdue({ database, clock }: HealthParts): Promise<boolean> {
  return isOverdue(readInstant((await findOwnFeedTime(database.read)) ?? ''), clock.now())
}

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

async function hasWitnessAlarm({ settings, database }: HealthParts): Promise<boolean> {
  return settings.evidenceStore && (await countWitnessAlarms(database.read)) > 0
}

async function isUnwitnessed({ settings, database, clock }: HealthParts): Promise<boolean> {
  // Without witnesses in the settings no job updates the row.
  if (!settings.evidenceStore || settings.logQuorum === 0) return false
  const since = readInstant((await findCosigned(database.read))?.pending_since ?? '')
  return since !== undefined && clock.now() - since > UNWITNESSED
}

async function hasLapsedTreaty({ database, clock }: HealthParts): Promise<boolean> {
  const now = clock.now()
  const ends = await findNextExpiry(database.read, {
    now: writeSortable(now),
    lapsedSince: writeSortable(now - LAPSED_WITHIN),
  })
  return ends.lapsed > 0
}

async function isStandbyMissing({ settings, database }: HealthParts): Promise<boolean> {
  return settings.haMode && (await countSyncStandbys(database)) < 1
}
