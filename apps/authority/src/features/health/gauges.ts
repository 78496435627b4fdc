import { type Instant, SECOND, readInstant } from '@chancery/protocol'
import type { ReadGauges, ServerLoad } from '@chancery/service-kit'
import type { Core } from '../../core.ts'
import { countOf } from '../../database/large-tables.ts'
import { countSyncStandbys } from '../../database/postgres/server-settings.ts'
import { FAULT_KINDS, RECORD_FAULTS } from '../../signing/record-faults.ts'
import { findActiveVersion } from '../crl/index.ts'
import { countWitnessAlarms, findCosigned } from '../evidence-log/index.ts'
import { registerFreshnessGauges } from './freshness-gauges.ts'
import { type HealthState, registerPartnerGauges } from './report.ts'

/** Witnesses of the public evidence log. No label names a witness. */
function logGauges({ database, settings, clock }: HealthState): ReadGauges {
  const db = database.read
  return {
    chancery_evidence_log_cosignatures: [
      'Cosignatures on the last cosigned checkpoint of the evidence log.',
      async () => (await findCosigned(db))?.cosigners ?? 0,
    ],
    chancery_evidence_log_quorum: [
      'Witnesses that must cosign the evidence log (NA_LOG_WITNESSES).',
      () => settings.logQuorum,
    ],
    chancery_evidence_log_unwitnessed_seconds: [
      'Time since the last checkpoint of the evidence log lacks its quorum; 0 when it has it.',
      async () => {
        if (settings.logQuorum === 0) return 0
        const since = readInstant((await findCosigned(db))?.pending_since ?? '')
        return since === undefined ? 0 : toSeconds(clock.now() - since)
      },
    ],
    chancery_evidence_log_witness_alarms: [
      'Witnesses that have more entries of the evidence log than this authority, or others.',
      () => countWitnessAlarms(db),
    ],
  }
}

/** How fast the database answers, and its connections: docs/operate/incidents.md#slow-database. */
function registerDatabaseGauges({ metrics: { registry }, database, databaseProbe }: HealthState): void {
  registry.readGauges({
    chancery_database_read_seconds: [
      'Time of the last read of the readiness check, the wait for a connection included. NaN before the first one.',
      () => databaseProbe.readSeconds,
    ],
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
  registry.readGauges({
    chancery_database_waiting: [
      'Statements and transactions that wait for a connection to PostgreSQL.',
      () => connections().waiting,
      'sum',
    ],
  })
}

/** The load of heartbeats in this process. */
function heartbeatGauges({ enrollment }: HealthState): ReadGauges {
  return {
    chancery_heartbeat_asked_seconds: [
      'Heartbeat interval that nodes are asked for.',
      () => enrollment.heartbeatLoad().askedSeconds,
      'max',
    ],
    chancery_heartbeats_unstored: [
      'Certificates whose last heartbeat was acknowledged and is not stored.',
      () => enrollment.heartbeatLoad().unstored,
      'sum',
    ],
    chancery_heartbeat_lag_seconds: [
      'Age of the oldest acknowledged heartbeat that is not stored.',
      () => enrollment.heartbeatLoad().lagSeconds,
      'max',
    ],
  }
}

/**
 * The numbers of protocol/core 22.2 that are read from the database on request: from counters and from counts of jobs,
 * never from a large table.
 */
export function registerGauges(parts: HealthState): void {
  const { registry } = parts.metrics
  registerDatabaseGauges(parts)
  registerFreshnessGauges(parts)
  registerPartnerGauges(parts)
  registry.readGauges(logGauges(parts))
  registry.readGauges(heartbeatGauges(parts))
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
  registerSuccessionGauges(parts)
  registry.readGauges({
    ...underBothNames(countGauges(parts)),
    chancery_active_nodes: [
      'Active nodes, by key: with a heartbeat within the active-node window.',
      () => parts.enrollment.readCountedNodes(),
    ],
    chancery_crl_sequence: [
      'Active CRL sequence, 0 without one.',
      async () => (await findActiveVersion(parts.database.read))?.sequence ?? 0,
    ],
  })
  if (parts.settings.haMode)
    registry.readGauges({
      chancery_sync_standbys: [
        'Standbys of the database that every commit waits for.',
        () => countSyncStandbys(parts.database),
      ],
    })
}

function registerSuccessionGauges(parts: HealthState): void {
  const { registry } = parts.metrics
  registry.readGauges({
    chancery_key_succession_nodes: [
      'During a key succession: nodes with a heartbeat within a day.',
      async () => (await parts.keySuccession.readCachedProgress())?.nodes,
    ],
    chancery_key_succession_nodes_with_new_block: [
      'Those of them that have the new genesis block.',
      async () => (await parts.keySuccession.readCachedProgress())?.nodes_with_new_block,
    ],
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
}

function countGauges({ enrollment, database }: HealthState): ReadGauges {
  return {
    chancery_issued_certs: ['Certificates ever issued.', async () => (await enrollment.certificates.read()).issued],
    chancery_revoked_certs: [
      'Certificates with status revoked.',
      async () => (await enrollment.certificates.read()).revoked,
    ],
    chancery_policy_versions: ['Stored policy versions.', () => countOf(database.read.selectFrom('policy_versions'))],
  }
}

/** The former name ends as that of a counter. It stays until 1.0 (protocol/core 22.2). */
function underBothNames(gauges: ReadGauges): ReadGauges {
  const former = Object.entries(gauges).map(([name, [help, ...read]]) => [
    `${name}_total`,
    [`${help} Former name of ${name}.`, ...read] as const,
  ])
  return { ...gauges, ...(Object.fromEntries(former) as ReadGauges) }
}

function toSeconds(duration: Instant): number {
  return Number(duration / SECOND)
}

/** Current load of the HTTP server. A value that stays above 0 without requests indicates a leak. */
export function registerLoadGauges({ registry }: Core['metrics'], load: () => ServerLoad): void {
  registry.readGauges({
    chancery_http_requests_in_flight: [
      'Requests that are being handled, without health and verify routes.',
      () => load().inFlight,
      'sum',
    ],
    chancery_http_verifications_in_flight: [
      'Requests of verify routes that are being handled or queued.',
      () => load().verifications,
      'sum',
    ],
    chancery_http_connections: ['Open connections.', () => load().connections, 'sum'],
    chancery_http_streams: ['Open event streams.', () => load().streams, 'sum'],
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
