import { DAY, type Instant, MAX_FEED_TOTAL_IDS, SECOND, readInstant, writeSortable } from '@chancery/protocol'
import { PARTS } from '../../database/room/disk-room.ts'
import { secondsToFloor } from '../../auth/node.ts'
import type { HealthState } from './report.ts'
import type { HealthParts } from './parts.ts'
import { inTime } from './database-probe.ts'
import { keyWindow } from '../../signing/key-window.ts'
import { findActiveVersion } from '../crl/index.ts'
import { measureUnanchored } from '../evidence/index.ts'
import { findNextExpiry } from '../recognition-treaties/index.ts'
import { findOwnFeedFacts, listPeerFeeds } from '../revocation-feeds/index.ts'
import { findOldestUnsent } from '../../audit/sequence.ts'
import { findLastBackup } from '../../database/database.ts'

/** Less than the time of a value in a scrape. A slow database gives the last result at once (database-probe.ts). */
const READY_WITHIN_MS = 2000

/** How long a treaty that ended without a successor is reported. */
const LAPSED_WITHIN = 7n * DAY

/**
 * Ages of everything that others rely on, for alerts (docs/operate/monitoring.md). No label names a sovereign, because
 * callers decide how many there are. NaN means that there is none, and matches no alert rule.
 */
export function registerFreshnessGauges(parts: HealthState): void {
  const { registry } = parts.metrics
  const db = parts.database.read
  const age = (then: Instant | undefined): number => (then === undefined ? Number.NaN : until(parts, then) * -1)
  const gauge = (name: string, help: string, collect: () => number | Promise<number>): void => {
    registry.gauge({ name, help, collect })
  }
  registry.gauge({
    name: 'chancery_ready',
    help: 'Whether /readyz reports ready; with several workers, whether one of them does.',
    together: 'max',
    // Not NaN, on which no rule fires, while a check of a lost database takes longer than a scrape waits.
    collect: () =>
      inTime(parts.readiness.read(), READY_WITHIN_MS).then(
        ({ isReady }) => (isReady ? 1 : 0),
        () => 0,
      ),
  })
  gauge(
    'chancery_signing_key_expires_in_seconds',
    'Time until the key window of the genesis block ends; negative after its end.',
    () => keyWindow(parts).expires_in_seconds,
  )
  gauge('chancery_boundary_policies_healthy', 'Whether the active boundary policies can decide.', async () =>
    (await parts.boundaryPolicies.describe()).healthy ? 1 : 0,
  )
  gauge('chancery_crl_age_seconds', 'Time since the current revocation list was signed.', async () =>
    age((await findActiveVersion(db))?.issuedAt),
  )
  gauge('chancery_crl_expires_in_seconds', 'Time until the current list ends; negative after its end.', async () => {
    const active = await findActiveVersion(db)
    return active === undefined ? Number.NaN : until(parts, active.nextUpdate)
  })
  gauge('chancery_crl_bytes', 'Size of the current revocation list.', async () => {
    return (await findActiveVersion(db))?.bytes ?? Number.NaN
  })
  gauge('chancery_crl_entries', 'Certificates on the current revocation list.', async () => {
    return (await findActiveVersion(db))?.entries ?? Number.NaN
  })
  gauge(
    'chancery_crl_reader_max_bytes',
    'NA_LIST_READER_BYTES: some readers refuse a larger list.',
    () => parts.settings.listReaderBytes,
  )
  registerOwnFeedGauges(parts)
  registerPeerGauges(parts)
  registerStandGauges(parts)
  registerTreatyGauges(parts)
  registerEvidenceGauges(parts)
  gauge(
    'chancery_audit_forward_lag_seconds',
    'Age of the oldest audit event that a forwarder has not sent, 0 without one.',
    async () => {
      const oldest = readStored(await findOldestUnsent(db))
      return oldest === undefined ? 0 : age(oldest)
    },
  )
}

function registerOwnFeedGauges(parts: HealthParts): void {
  const { registry } = parts.metrics
  const find = () => findOwnFeedFacts(parts.database.read)
  registry.gauge({
    name: 'chancery_feed_sequence',
    help: 'Sequence of the own revocation feed.',
    collect: async () => (await find())?.sequence ?? Number.NaN,
  })
  registry.gauge({
    name: 'chancery_feed_age_seconds',
    help: 'Time since the own revocation feed was signed.',
    collect: async () => {
      const at = readStored((await find())?.issued_at)
      return at === undefined ? Number.NaN : -until(parts, at)
    },
  })
  registry.gauge({
    name: 'chancery_feed_ids',
    help: 'Revoked attestations that the own feed publishes, in all parts.',
    collect: async () => (await find())?.total_ids ?? Number.NaN,
  })
  registry.gauge({
    name: 'chancery_feed_capacity_ids',
    help: 'Most ids the own feed can have; above it revocations are refused.',
    collect: () => MAX_FEED_TOTAL_IDS,
  })
}

/** Only for currently recognised sovereigns, because other feeds have no effect. */
function registerPeerGauges(parts: HealthParts): void {
  const { registry } = parts.metrics
  const seen = async (): Promise<readonly (Instant | undefined)[]> =>
    (await listPeerFeeds(parts.database.read, parts.clock.now())).map(({ seenAt }) => seenAt)
  registry.gauge({
    name: 'chancery_peer_feed_oldest_age_seconds',
    help: 'Longest time since the feed of a recognised sovereign was imported or found unchanged, among feeds imported at least once.',
    collect: async () => {
      const times = (await seen()).filter((time) => time !== undefined)
      if (times.length === 0) return Number.NaN
      return -until(
        parts,
        times.reduce((oldest, time) => (time < oldest ? time : oldest)),
      )
    },
  })
  registry.gauge({
    name: 'chancery_peer_feeds_never_imported',
    help: 'Recognised sovereigns whose feed was never imported in full.',
    collect: async () => (await seen()).filter((time) => time === undefined).length,
  })
}

/** State of the database: conditions that need another action than an instance that is not ready. */
function registerStandGauges(parts: HealthState): void {
  const { registry } = parts.metrics
  registry.gauge({
    name: 'chancery_database_disk_full',
    help: 'Whether a recent write found a full disk.',
    collect: async () => ((await parts.readiness.read()).reasons.includes('disk_full') ? 1 : 0),
  })
  registerDiskGauges(parts)
  registry.gauge({
    name: 'chancery_state_rollback',
    help: 'Whether the database is rolled back, or the mark that would show it is missing: all requests are refused until it is recovered.',
    collect: () => (parts.rollback.isHalted() ? 1 : 0),
  })
  registry.gauge({
    name: 'chancery_replay_floor_seconds',
    help: 'After a recovery: time for which requests signed now are still refused; 0 when they are accepted.',
    collect: () => secondsToFloor(parts),
  })
  registry.gauge({
    name: 'chancery_backup_age_seconds',
    help: 'Time since the last recorded backup, or since this database was created when there is none.',
    collect: async () => {
      const at = readStored(await findLastBackup(parts.database.read))
      return at === undefined ? Number.NaN : -until(parts, at)
    },
  })
}

/** Before the disk is full: decisions and evidence are refused first. */
function registerDiskGauges({ database, metrics: { registry } }: HealthState): void {
  registry.gauge({
    name: 'chancery_disk_free_bytes',
    help: 'Free space on the disk of an SQLite database. Not known for PostgreSQL.',
    collect: async () => (await database.room.report()).space?.freeBytes ?? Number.NaN,
  })
  registry.gauge({
    name: 'chancery_disk_limit_bytes',
    help: 'Free space below which decisions and evidence are refused (NA_DISK_FREE_BYTES). Not known for PostgreSQL.',
    collect: async () => (await database.room.report()).limitBytes ?? Number.NaN,
  })
  registry.gauge({
    name: 'chancery_disk_reserve_released',
    help: 'Parts of the disk reserve that are in use: 1 refuses decisions and evidence, 2 stores revocations only.',
    collect: async () => {
      const report = await database.room.report()
      return PARTS.filter((part) => report[part] === 'released').length
    },
  })
}

function registerTreatyGauges(parts: HealthParts): void {
  const { registry } = parts.metrics
  const ends = () => {
    const now = parts.clock.now()
    return findNextExpiry(parts.database.read, {
      now: writeSortable(now),
      lapsedSince: writeSortable(now - LAPSED_WITHIN),
    })
  }
  registry.gauge({
    name: 'chancery_treaty_next_expiry_seconds',
    help: 'Time until the next recognised sovereign is without a treaty.',
    collect: async () => {
      const next = readStored((await ends()).next)
      return next === undefined ? Number.NaN : until(parts, next)
    },
  })
  registry.gauge({
    name: 'chancery_treaties_lapsed',
    help: 'Sovereigns whose last treaty ended within seven days and was neither renewed nor revoked.',
    collect: async () => (await ends()).lapsed,
  })
}

function registerEvidenceGauges(parts: HealthParts): void {
  const { anchorIntervalSeconds, evidenceStore } = parts.settings
  if (!evidenceStore) return
  const { registry } = parts.metrics
  registry.gauge({
    name: 'chancery_evidence_unanchored_entries',
    help: 'Entries of the evidence store that no anchor covers.',
    collect: async () => (await measureUnanchored(parts.database.read)).entries,
  })
  registry.gauge({
    name: 'chancery_evidence_unanchored_seconds',
    help: 'Age of the oldest entry that no anchor covers, 0 without one.',
    collect: async () => {
      const since = readStored((await measureUnanchored(parts.database.read)).since)
      return since === undefined ? 0 : -until(parts, since)
    },
  })
  registry.gauge({
    name: 'chancery_evidence_anchor_interval_seconds',
    help: 'NA_ANCHOR_INTERVAL_SECONDS; 0 when anchors are made on request only.',
    collect: () => anchorIntervalSeconds,
  })
}

function until(parts: HealthParts, then: Instant): number {
  return Number((then - parts.clock.now()) / SECOND)
}

function readStored(text: string | undefined): Instant | undefined {
  return text === undefined ? undefined : readInstant(text)
}
