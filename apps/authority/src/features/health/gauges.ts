import { type Instant, SECOND, readInstant } from '@chancery/protocol'
import { countSyncStandbys } from '../../database/postgres/server-settings.ts'
import type { GaugeFacts, ServerLoad } from '@chancery/service-kit'
import type { HealthState } from './state.ts'
import type { Core } from '../../core.ts'
import { FAULT_KINDS, RECORD_FAULTS } from '../../signing/record-faults.ts'
import { findActiveVersion } from '../crl/index.ts'
import { registerDatabaseGauges } from './database-gauges.ts'
import { registerFreshnessGauges } from './freshness-gauges.ts'
import { registerHeartbeatGauges } from './heartbeat-gauges.ts'
import { registerLogGauges } from './log-gauges.ts'
import { registerPartnerGauges } from './partner-gauges.ts'

/**
 * The numbers of protocol/core 22.2 that are read from the database on request: from counters and from counts of jobs,
 * never from a large table.
 */
// oxlint-disable-next-line max-lines-per-function -- one statement per gauge
export function registerGauges(parts: HealthState): void {
  const { registry } = parts.metrics
  const db = parts.database.read
  registerDatabaseGauges(parts)
  registerFreshnessGauges(parts)
  registerPartnerGauges(parts)
  registerLogGauges(parts)
  registerHeartbeatGauges(parts)
  registry.rows({
    name: 'chancery_record_faults',
    help: 'Whether stored rows of this kind contradict the signed records; nothing is signed from them.',
    kind: 'gauge',
    labels: ['kind'],
    together: 'max',
    collect: () =>
      FAULT_KINDS.map((kind) => ({
        labels: { kind: RECORD_FAULTS[kind] },
        value: parts.recordFaults.has(kind) ? 1 : 0,
      })),
  })
  registry.gauge({
    name: 'chancery_key_succession_nodes',
    help: 'During a key succession: nodes with a heartbeat within a day.',
    collect: async () => (await parts.keySuccession.readCachedProgress())?.nodes ?? Number.NaN,
  })
  registry.gauge({
    name: 'chancery_key_succession_nodes_with_new_block',
    help: 'Those of them that have the new genesis block.',
    collect: async () => (await parts.keySuccession.readCachedProgress())?.nodes_with_new_block ?? Number.NaN,
  })
  registry.rows({
    name: 'chancery_key_succession_age_seconds',
    help: 'During a key succession: time since its phase began.',
    kind: 'gauge',
    labels: ['phase'],
    collect: async () => {
      const { phase, announced_at, switched_at } = (await parts.keySuccession.readCachedProgress()) ?? {}
      const began = readInstant(switched_at ?? announced_at ?? '')
      if (began === undefined || (phase !== 'announced' && phase !== 'switched')) return []
      return [{ labels: { phase }, value: toSeconds(parts.clock.now() - began) }]
    },
  })
  registry.rows({
    name: 'chancery_key_succession_switch_within_seconds',
    help: 'While a key is announced: time until followers refuse signatures of the current key.',
    kind: 'gauge',
    // With a label, so that there is no series without an announcement. A value of 0 would mean that the time is over.
    labels: ['phase'],
    collect: async () => {
      const { phase, switch_by } = (await parts.keySuccession.readCachedProgress()) ?? {}
      const deadline = readInstant(switch_by ?? '')
      return deadline === undefined || phase === undefined
        ? []
        : [{ labels: { phase }, value: toSeconds(deadline - parts.clock.now()) }]
    },
  })
  underBothNames(registry, {
    name: 'chancery_issued_certs',
    help: 'Certificates ever issued.',
    collect: () => parts.enrollment.certificates.read().then(({ issued }) => issued),
  })
  registry.gauge({
    name: 'chancery_active_nodes',
    help: 'Active nodes, by key: with a heartbeat within the active-node window.',
    collect: () => parts.enrollment.readCountedNodes(),
  })
  underBothNames(registry, {
    name: 'chancery_revoked_certs',
    help: 'Certificates with status revoked.',
    collect: () => parts.enrollment.certificates.read().then(({ revoked }) => revoked),
  })
  registry.gauge({
    name: 'chancery_crl_sequence',
    help: 'Active CRL sequence, 0 without one.',
    collect: async () => (await findActiveVersion(db))?.sequence ?? 0,
  })
  if (parts.settings.haMode)
    registry.gauge({
      name: 'chancery_sync_standbys',
      help: 'Standbys of the database that every commit waits for.',
      collect: () => countSyncStandbys(parts.database),
    })
  underBothNames(registry, {
    name: 'chancery_policy_versions',
    help: 'Stored policy versions.',
    collect: async () => {
      const row = await db
        .selectFrom('policy_versions')
        .select((eb) => eb.fn.countAll<number>().as('count'))
        .executeTakeFirst()
      return Number(row?.count ?? 0)
    },
  })
}

/** The former name ends as that of a counter. It stays until 1.0 (protocol/core 22.2). */
function underBothNames(registry: Core['metrics']['registry'], facts: GaugeFacts): void {
  registry.gauge(facts)
  registry.gauge({ ...facts, name: `${facts.name}_total`, help: `${facts.help} Former name of ${facts.name}.` })
}

function toSeconds(duration: Instant): number {
  return Number(duration / SECOND)
}

/** Current load of the HTTP server. A value that stays above 0 without requests indicates a leak. */
export function registerLoadGauges({ registry }: Core['metrics'], load: () => ServerLoad): void {
  registry.gauge({
    name: 'chancery_http_requests_in_flight',
    help: 'Requests that are being handled, without health and verify routes.',
    together: 'sum',
    collect: () => load().inFlight,
  })
  registry.gauge({
    name: 'chancery_http_verifications_in_flight',
    help: 'Requests of verify routes that are being handled or queued.',
    together: 'sum',
    collect: () => load().verifications,
  })
  registry.gauge({
    name: 'chancery_http_connections',
    help: 'Open connections.',
    together: 'sum',
    collect: () => load().connections,
  })
  registry.gauge({
    name: 'chancery_http_streams',
    help: 'Open event streams.',
    together: 'sum',
    collect: () => load().streams,
  })
  registry.rows({
    name: 'chancery_http_body_bytes',
    help: 'Bytes of request bodies in memory, by kind of route.',
    kind: 'gauge',
    labels: ['room'],
    together: 'sum',
    collect: () => Object.entries(load().bodyBytes).map(([room, value]) => ({ labels: { room }, value })),
  })
}
