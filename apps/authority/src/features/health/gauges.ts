import { type Instant, SECOND, readInstant } from '@chancery/protocol'
import { countSyncStandbys } from '../../database/postgres/server-settings.ts'
import type { GaugeFacts, ServerLoad } from '@chancery/service-kit'
import { type HealthState, registerPartnerGauges } from './report.ts'
import type { Core } from '../../core.ts'
import { FAULT_KINDS, RECORD_FAULTS } from '../../signing/record-faults.ts'
import { findActiveVersion } from '../crl/index.ts'
import { registerFreshnessGauges } from './freshness-gauges.ts'
import { countWitnessAlarms, findCosigned } from '../evidence-log/index.ts'

/** Witnesses of the public evidence log. No label names a witness. */
function registerLogGauges({ metrics, database, settings, clock }: HealthState): void {
  const { registry } = metrics
  const db = database.read
  registry.gauge({
    name: 'chancery_evidence_log_cosignatures',
    help: 'Cosignatures on the last cosigned checkpoint of the evidence log.',
    collect: async () => (await findCosigned(db))?.cosigners ?? 0,
  })
  registry.gauge({
    name: 'chancery_evidence_log_quorum',
    help: 'Witnesses that must cosign the evidence log (NA_LOG_WITNESSES).',
    collect: () => settings.logQuorum,
  })
  registry.gauge({
    name: 'chancery_evidence_log_unwitnessed_seconds',
    help: 'Time since the last checkpoint of the evidence log lacks its quorum; 0 when it has it.',
    collect: async () => {
      if (settings.logQuorum === 0) return 0
      const since = readInstant((await findCosigned(db))?.pending_since ?? '')
      return since === undefined ? 0 : Number((clock.now() - since) / SECOND)
    },
  })
  registry.gauge({
    name: 'chancery_evidence_log_witness_alarms',
    help: 'Witnesses that have more entries of the evidence log than this authority, or others.',
    collect: () => countWitnessAlarms(db),
  })
}

/** How fast the database answers, and its connections: docs/operate/incidents.md#slow-database. */
function registerDatabaseGauges({ metrics: { registry }, database, databaseProbe }: HealthState): void {
  registry.gauge({
    name: 'chancery_database_read_seconds',
    help: 'Time of the last read of the readiness check, the wait for a connection included. NaN before the first one.',
    collect: () => databaseProbe.readSeconds ?? Number.NaN,
  })
  const { connections } = database
  if (connections === undefined) return
  registry.rows({
    name: 'chancery_database_connections',
    help: 'Connections to PostgreSQL by state; `most` is how many there may be.',
    kind: 'gauge',
    labels: ['state'],
    together: 'sum',
    collect: () => {
      const { most, open, idle } = connections()
      const rows = { most, idle, busy: open - idle }
      return Object.entries(rows).map(([state, value]) => ({ labels: { state }, value }))
    },
  })
  registry.gauge({
    name: 'chancery_database_waiting',
    help: 'Statements and transactions that wait for a connection to PostgreSQL.',
    together: 'sum',
    collect: () => connections().waiting,
  })
}

/** The load of heartbeats in this process. */
function registerHeartbeatGauges({ enrollment, metrics: { registry } }: HealthState): void {
  registry.gauge({
    name: 'chancery_heartbeat_asked_seconds',
    help: 'Heartbeat interval that nodes are asked for.',
    together: 'max',
    collect: () => enrollment.heartbeatLoad().askedSeconds,
  })
  registry.gauge({
    name: 'chancery_heartbeats_unstored',
    help: 'Certificates whose last heartbeat was acknowledged and is not stored.',
    together: 'sum',
    collect: () => enrollment.heartbeatLoad().unstored,
  })
  registry.gauge({
    name: 'chancery_heartbeat_lag_seconds',
    help: 'Age of the oldest acknowledged heartbeat that is not stored.',
    together: 'max',
    collect: () => enrollment.heartbeatLoad().lagSeconds,
  })
}

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
