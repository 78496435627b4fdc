import { DAY, SECOND, readInstant, writeSortable } from '@chancery/protocol'
import type { Instant } from '@chancery/protocol'
import type { Office } from '../../office.ts'
import { findActiveVersion } from '../crl/index.ts'
import { measureUnanchored } from '../evidence/index.ts'
import { findEnds } from '../recognition-treaties/index.ts'
import { findOldestImport } from '../revocation-feeds/index.ts'
import { findOldestUnsent } from '../../store/audit-numbers.ts'

/** For how long a treaty that ended and was not followed by another is still worth a word. */
const LAPSED_WITHIN = 7n * DAY

/**
 * How old everything is that others rely on: what alerts are made of (docs/operate/monitoring.md). No label names a
 * sovereign: how many there are is decided by callers. Not-a-number stands for "there is none", which no rule meets.
 */
export function registerFreshnessGauges(office: Office): void {
  const { registry } = office.metrics
  const { db } = office.store
  const age = (then: Instant | undefined): number => (then === undefined ? Number.NaN : until(office, then) * -1)
  const gauge = (name: string, help: string, collect: () => number | Promise<number>): void => {
    registry.gauge({ name, help, collect })
  }
  gauge('chancery_ready', 'Whether /readyz says yes.', async () => ((await office.readiness.read()).isReady ? 1 : 0))
  gauge('chancery_crl_age_seconds', 'Time since the revocation list in force was signed.', async () =>
    age((await findActiveVersion(db))?.issuedAt),
  )
  gauge('chancery_crl_expires_in_seconds', 'Time until the list in force ends; negative when it has.', async () => {
    const active = await findActiveVersion(db)
    return active === undefined ? Number.NaN : until(office, active.nextUpdate)
  })
  gauge(
    'chancery_peer_feed_oldest_age_seconds',
    'Time since the last import from the sovereign whose feed was imported least recently.',
    async () => age(readStored(await findOldestImport(db))),
  )
  registerTreatyGauges(office)
  registerEvidenceGauges(office)
  gauge(
    'chancery_audit_forward_lag_seconds',
    'Age of the oldest audit event that a forwarder has not sent, 0 without one.',
    async () => {
      const oldest = readStored(await findOldestUnsent(db))
      return oldest === undefined ? 0 : age(oldest)
    },
  )
}

function registerTreatyGauges(office: Office): void {
  const { registry } = office.metrics
  const ends = () => {
    const now = office.clock.now()
    return findEnds(office.store.db, { now: writeSortable(now), lapsedSince: writeSortable(now - LAPSED_WITHIN) })
  }
  registry.gauge({
    name: 'chancery_treaty_next_expiry_seconds',
    help: 'Time until the next recognised sovereign is without a treaty.',
    collect: async () => {
      const next = readStored((await ends()).next)
      return next === undefined ? Number.NaN : until(office, next)
    },
  })
  registry.gauge({
    name: 'chancery_treaties_lapsed',
    help: 'Sovereigns whose last treaty ended within seven days and was neither renewed nor revoked.',
    collect: async () => (await ends()).lapsed,
  })
}

function registerEvidenceGauges(office: Office): void {
  const { anchorIntervalSeconds, evidenceStore } = office.settings
  if (!evidenceStore) return
  const { registry } = office.metrics
  registry.gauge({
    name: 'chancery_evidence_unanchored_entries',
    help: 'Entries of the evidence store that no anchor covers.',
    collect: async () => (await measureUnanchored(office.store.db)).entries,
  })
  registry.gauge({
    name: 'chancery_evidence_unanchored_seconds',
    help: 'Age of the oldest entry that no anchor covers, 0 without one.',
    collect: async () => {
      const since = readStored((await measureUnanchored(office.store.db)).since)
      return since === undefined ? 0 : -until(office, since)
    },
  })
  registry.gauge({
    name: 'chancery_evidence_anchor_interval_seconds',
    help: 'NA_ANCHOR_INTERVAL_SECONDS; 0 when anchors are made on request only.',
    collect: () => anchorIntervalSeconds,
  })
}

function until(office: Office, then: Instant): number {
  return Number((then - office.clock.now()) / SECOND)
}

function readStored(text: string | undefined): Instant | undefined {
  return text === undefined ? undefined : readInstant(text)
}
