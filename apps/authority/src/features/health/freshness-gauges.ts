import { LIMITS } from '@chancery/contract'
import { type Instant, MAX_FEED_TOTAL_IDS, SECOND, readInstant } from '@chancery/protocol'
import { type ReadGauges, inTime } from '@chancery/service-kit'
import { findOldestUnsent } from '../../audit/sequence.ts'
import { secondsToFloor } from '../../auth/node.ts'
import { findLastBackup } from '../../database/database.ts'
import { PARTS } from '../../database/room/disk-room.ts'
import { keyWindow } from '../../signing/halt-reasons.ts'
import { findActiveVersion } from '../crl/index.ts'
import { measureUnanchored } from '../evidence/index.ts'
import { findNextExpiry } from '../recognition-treaties/index.ts'
import { findOwnFeedFacts, listPeerFeeds } from '../revocation-feeds/index.ts'
import type { HealthParts } from './readiness.ts'
import type { HealthState } from './report.ts'

/** Less than the time of a value in a scrape. A slow database gives the last result at once (database-probe.ts). */
const READY_WITHIN_MS = 2000

/**
 * Ages of everything that others rely on, for alerts (docs/operate/monitoring.md). No label names a sovereign, because
 * callers decide how many there are. NaN means that there is none, and matches no alert rule.
 */
export function registerFreshnessGauges(parts: HealthState): void {
  const { registry } = parts.metrics
  registry.readGauges({
    chancery_ready: [
      'Whether /readyz reports ready; with several workers, whether one of them does.',
      // Not NaN, on which no rule fires, while a check of a lost database takes longer than a scrape waits.
      () =>
        inTime(parts.readiness.read(), READY_WITHIN_MS).then(
          ({ isReady }) => (isReady ? 1 : 0),
          () => 0,
        ),
      'max',
    ],
    chancery_signing_key_expires_in_seconds: [
      'Time until the key window of the genesis block ends; negative after its end.',
      () => keyWindow(parts).expires_in_seconds,
    ],
    chancery_boundary_policies_healthy: [
      'Whether the active boundary policies can decide.',
      async () => Number((await parts.boundaryPolicies.describe()).healthy),
    ],
  })
  registry.readGauges(listGauges(parts))
  registry.readGauges(ownFeedGauges(parts))
  registry.readGauges(partnerGauges(parts))
  registry.readGauges(databaseGauges(parts))
  if (parts.settings.evidenceStore) registry.readGauges(evidenceGauges(parts))
}

function listGauges(parts: HealthParts): ReadGauges {
  const { since, until } = timesOf(parts)
  const find = () => findActiveVersion(parts.database.read)
  return {
    chancery_crl_age_seconds: [
      'Time since the current revocation list was signed.',
      async () => since((await find())?.issuedAt),
    ],
    chancery_crl_expires_in_seconds: [
      'Time until the current list ends; negative after its end.',
      async () => until((await find())?.nextUpdate),
    ],
    chancery_crl_bytes: ['Size of the current revocation list.', async () => (await find())?.bytes],
    chancery_crl_entries: ['Certificates on the current revocation list.', async () => (await find())?.entries],
    chancery_crl_reader_max_bytes: [
      'Readers refuse a larger list, unless they are set otherwise.',
      () => LIMITS.listReaderBytes,
    ],
  }
}

function ownFeedGauges(parts: HealthParts): ReadGauges {
  const { since } = timesOf(parts)
  const find = () => findOwnFeedFacts(parts.database.read)
  return {
    chancery_feed_sequence: ['Sequence of the own revocation feed.', async () => (await find())?.sequence],
    chancery_feed_age_seconds: [
      'Time since the own revocation feed was signed.',
      async () => since((await find())?.issued_at),
    ],
    chancery_feed_ids: [
      'Revoked attestations that the own feed publishes, in all parts.',
      async () => (await find())?.total_ids,
    ],
    chancery_feed_capacity_ids: [
      'Most ids the own feed can have; above it revocations are refused.',
      () => MAX_FEED_TOTAL_IDS,
    ],
  }
}

/** Only for currently recognised sovereigns, because other feeds have no effect. */
function partnerGauges(parts: HealthParts): ReadGauges {
  const { since, until } = timesOf(parts)
  const { database, clock } = parts
  const seen = async (): Promise<readonly (Instant | undefined)[]> =>
    (await listPeerFeeds(database.read, clock.now())).map(({ seenAt }) => seenAt)
  const ends = () => findNextExpiry(database.read, clock.now())
  return {
    chancery_peer_feed_oldest_age_seconds: [
      'Longest time since the feed of a recognised sovereign was imported or found unchanged, among feeds imported at least once.',
      async () => since((await seen()).filter((time) => time !== undefined).toSorted((a, b) => (a < b ? -1 : 1))[0]),
    ],
    chancery_peer_feeds_never_imported: [
      'Recognised sovereigns whose feed was never imported in full.',
      async () => (await seen()).filter((time) => time === undefined).length,
    ],
    chancery_treaty_next_expiry_seconds: [
      'Time until the next recognised sovereign is without a treaty.',
      async () => until((await ends()).next),
    ],
    chancery_treaties_lapsed: [
      'Sovereigns whose last treaty ended within seven days and was neither renewed nor revoked.',
      async () => (await ends()).lapsed,
    ],
  }
}

/** Conditions of the database that need another action than an instance that is not ready. */
function databaseGauges(parts: HealthState): ReadGauges {
  const { since } = timesOf(parts)
  const { database, readiness, rollback } = parts
  return {
    chancery_database_disk_full: [
      'Whether a recent write found a full disk.',
      async () => Number((await readiness.read()).reasons.includes('disk_full')),
    ],
    // Before the disk is full: decisions and evidence are refused first.
    chancery_disk_free_bytes: [
      'Free space on the disk of an SQLite database. Not known for PostgreSQL.',
      async () => (await database.room.report()).space?.freeBytes,
    ],
    chancery_disk_limit_bytes: [
      'Free space below which decisions and evidence are refused (NA_DISK_FREE_BYTES). Not known for PostgreSQL.',
      async () => (await database.room.report()).limitBytes,
    ],
    chancery_disk_reserve_released: [
      'Parts of the disk reserve that are in use: 1 refuses decisions and evidence, 2 stores revocations only.',
      async () => {
        const report = await database.room.report()
        return PARTS.filter((part) => report[part] === 'released').length
      },
    ],
    chancery_state_rollback: [
      'Whether the database is rolled back, or the mark that would show it is missing: all requests are refused until it is recovered.',
      () => Number(rollback.isHalted()),
    ],
    chancery_replay_floor_seconds: [
      'After a recovery: time for which requests signed now are still refused; 0 when they are accepted.',
      () => secondsToFloor(parts),
    ],
    chancery_backup_age_seconds: [
      'Time since the last recorded backup, or since this database was created when there is none.',
      async () => since(await findLastBackup(database.read)),
    ],
    chancery_audit_forward_lag_seconds: [
      'Age of the oldest audit event that a forwarder has not sent, 0 without one.',
      async () => since(await findOldestUnsent(database.read)) ?? 0,
    ],
  }
}

function evidenceGauges(parts: HealthParts): ReadGauges {
  const { since } = timesOf(parts)
  const measure = () => measureUnanchored(parts.database.read)
  return {
    chancery_evidence_unanchored_entries: [
      'Entries of the evidence store that no anchor covers.',
      async () => (await measure()).entries,
    ],
    chancery_evidence_unanchored_seconds: [
      'Age of the oldest entry that no anchor covers, 0 without one.',
      async () => since((await measure()).since) ?? 0,
    ],
    chancery_evidence_anchor_interval_seconds: [
      'NA_ANCHOR_INTERVAL_SECONDS; 0 when anchors are made on request only.',
      () => parts.settings.anchorIntervalSeconds,
    ],
  }
}

/** Seconds since and until a time, as stored or read. */
function timesOf({ clock }: HealthParts) {
  const since = (then: Instant | string | undefined): number | undefined => {
    const at = typeof then === 'string' ? readInstant(then) : then
    return at === undefined ? undefined : Number((clock.now() - at) / SECOND)
  }
  const until = (then: Instant | string | undefined): number | undefined => {
    const left = since(then)
    return left === undefined ? undefined : 0 - left
  }
  return { since, until }
}
