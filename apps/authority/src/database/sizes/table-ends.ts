import { DAY, HOUR, MINUTE, SECOND, readInstant } from '@chancery/protocol'
import { type RawBuilder, sql } from 'kysely'
import type { Tables } from '../tables.ts'

/** An invite is listed for this time after its end. */
export const INVITES_KEPT = 30n * DAY
/** Refused evidence stays in its table for this time (NA_EVIDENCE_REJECTIONS=table). */
export const REJECTIONS_KEPT = 90n * DAY

/** An approval is listed for this time after its end. The evidence store has it for longer. */
export const APPROVALS_STORED = 90n * DAY
/** The longest time of a gate that asks for the first use. */
export const APPROVAL_USES_STORED = 367n * DAY

/** Settings that say how long rows are stored, in days; 0 stands for permanently. */
export interface KeptDays {
  readonly auditKeptDays: number
  readonly certificateKeptDays: number
}

/** Rows that a job removes. */
export interface TimedEnd {
  /** As in docs/operate/retention.md. */
  readonly job: string
  /** What to do about rows past their end, where it is not the job. */
  readonly fix?: string
  /** How much later rows may be removed, where they are removed together. */
  readonly late?: bigint
  /** How long a row is stored: a time, or the setting that has it. */
  readonly keptFor: bigint | keyof KeptDays
  /** True for a row that should have been removed at the time `before`, which is written sortable. */
  readonly past: (before: string) => RawBuilder<unknown>
}

/** The most rows that a table is planned for: a number, or so many for each row of another table. */
export type MostRows = number | { readonly each: TableName; readonly rows: number }

/** What bounds a table: the time its rows are stored, their number, or both. */
export type TableEnd =
  | { readonly timed: TimedEnd; readonly most?: MostRows }
  | { readonly timed?: TimedEnd; readonly most: MostRows }

export type TableName = keyof Tables | 'audit_numbering'

/** Rows that operators cause one by one. A table with more is used by a program. */
const BY_OPERATORS = 100_000
/** From here on backups and vacuum take hours (about 100 to 300 GB). */
const HISTORY = 100_000_000

/** Rows with a time in `column` before the given one. */
function timed(job: string, column: string, keptFor: TimedEnd['keptFor'], only?: RawBuilder<unknown>): TimedEnd {
  const isOld = (before: string) => sql`${sql.ref(column)} < ${before}`
  return { job, keptFor, past: (before) => (only === undefined ? isOld(before) : sql`${isOld(before)} and ${only}`) }
}

/** Entries that the checkpoint of a retention run of before covers. */
function covered(before: string): RawBuilder<unknown> {
  return sql`store_sequence <= (select coalesce(max(removed_through_sequence), 0) from evidence_checkpoints
    where created_at < ${before})`
}

/** The certificates that the job removes: features/enrollment/remove-certificates.job.ts. */
const REMOVABLE_CERTIFICATE = sql`(revocation_reason is null or revocation_reason <> 'key_compromise')
  and list_after is null
  and not exists (select 1 from crl_entries e where e.cert_id = issued_certs.cert_id)
  and not exists (select 1 from node_liveness l where l.cert_id = issued_certs.cert_id)`

/** The events that the authority reads as state stay: audit/remove.job.ts. */
const REMOVABLE_EVENT = sql`event_type not in ('recognition_treaty_revoked', 'admission_rule_removed', 'state_recovered')`

/**
 * What bounds each table. A table without an entry does not compile, and docs/operate/retention.md has the same tables
 * and jobs.
 */
export const TABLE_ENDS: Readonly<Record<TableName, TableEnd>> = {
  activity_minutes: { timed: timed('record-activity', 'minute', DAY) },
  admission_rules: { most: BY_OPERATORS },
  admitted_certs: { timed: timed('evidence-removal', 'expires_at', 31n * DAY) },
  agent_capabilities: { most: { each: 'agent_registrations', rows: 64 } },
  agent_capability_counts: { most: { each: 'agent_registrations', rows: 64 } },
  agent_registrations: {
    timed: {
      job: 'purge-agents',
      keptFor: DAY,
      past: (before) =>
        sql`(listed = 0 and registered_at < ${before} and expires_at < ${before}) or (listed = 1 and expires_at < ${before})`,
    },
  },
  agent_tombstones: { timed: timed('purge-agents', 'keep_until', 0n) },
  approval_notices: { timed: timed('approval-webhook', 'created_at', DAY) },
  approval_statements: { most: { each: 'approvals', rows: 20 } },
  approval_uses: { timed: timed('approval-expiry', 'used_at', APPROVAL_USES_STORED) },
  approvals: { timed: timed('approval-expiry', 'ended_at', APPROVALS_STORED) },
  audit_events: {
    timed: {
      ...timed('audit-removal', 'created_at', 'auditKeptDays', REMOVABLE_EVENT),
      // On PostgreSQL they wait for the end of their partition: audit/drop-partitions.ts.
      late: 7n * DAY,
      fix: 'Events are removed only after every forwarder and named export has them: docs/operate/retention.md#audit-events.',
    },
    most: HISTORY,
  },
  audit_forwards: { most: 1000 },
  audit_numbering: { most: 1 },
  // The number of an event may be in a later partition, and then stays longer.
  audit_numbers: { most: { each: 'audit_events', rows: 2 } },
  audit_subjects: { most: { each: 'audit_events', rows: 16 } },
  authority_identity: { most: 1 },
  boundary_policies: { most: BY_OPERATORS },
  boundary_policy_texts: { most: { each: 'boundary_policies', rows: 16 } },
  budget_sums: { timed: timed('budget-removal', 'kept_until', DAY) },
  budget_uses: { timed: timed('budget-removal', 'kept_until', DAY) },
  budgets: { timed: timed('budget-removal', 'open_until', DAY) },
  crl_entries: { timed: timed('crl-refresh', 'expires_at', 13n * HOUR) },
  crl_segments: {
    timed: {
      job: 'crl-removal',
      keptFor: DAY,
      // No version that is still stored has them.
      past: (before) => sql`replaced_by <= (select min(sequence) from crl_versions where next_update >= ${before})`,
    },
  },
  crl_versions: {
    timed: timed('crl-removal', 'next_update', DAY, sql`sequence < (select max(sequence) from crl_versions)`),
  },
  data_license_policies: { most: BY_OPERATORS },
  decision_facts: { timed: { job: 'evidence-sweep', keptFor: HOUR, past: covered }, most: HISTORY },
  decision_facts_head: { most: 1 },
  decision_hours: { timed: timed('retention', 'hour', 400n * DAY) },
  decision_minutes: { most: 1000 },
  evidence_anchors: { most: 1_000_000 },
  evidence_checkpoints: {
    timed: timed(
      'retention',
      'created_at',
      400n * DAY,
      sql`removed_through_sequence < (select max(removed_through_sequence) from evidence_checkpoints)`,
    ),
  },
  evidence_entries: { timed: { job: 'evidence-sweep', keptFor: HOUR, past: covered }, most: HISTORY },
  evidence_head: { most: 1 },
  evidence_log_checkpoints: { most: 1 },
  evidence_log_cosigned: { most: 1 },
  evidence_log_identity: { most: 1 },
  evidence_log_tiles: { most: 4_000_000 },
  evidence_log_witnesses: { most: 1000 },
  evidence_rejection_counts: { most: 100 },
  evidence_rejections: { timed: timed('retention', 'rejected_at', REJECTIONS_KEPT) },
  evidence_removed_heads: { most: 50_000 },
  executor_keys: { most: BY_OPERATORS },
  former_crl_versions: {
    timed: timed(
      'crl-removal',
      'next_update',
      DAY,
      sql`sequence < (select max(f.sequence) from former_crl_versions f where f.key_id = former_crl_versions.key_id)`,
    ),
  },
  former_keys: { most: 1000 },
  heads: { most: 100 },
  heartbeat_paces: { most: 900 },
  idempotency_keys: { timed: timed('purge-idempotency-keys', 'expires_at', 0n) },
  imported_feed_parts: { most: { each: 'imported_issuers', rows: 256 } },
  imported_issuers: { most: BY_OPERATORS },
  imported_sovereign_revocations: { most: 10_000_000 },
  instances: { timed: timed('operator-keys-check', 'seen_at', DAY) },
  invite_tokens: { timed: timed('retention', 'expires_at', INVITES_KEPT) },
  issued_certs: { timed: timed('certificate-removal', 'expires_at', 'certificateKeptDays', REMOVABLE_CERTIFICATE) },
  issued_counts: { most: 100_000 },
  job_leases: { most: 100 },
  key_succession: { most: 1 },
  membership_attestations: { most: 10_000_000 },
  moments: { most: 1000 },
  node_labels: { most: { each: 'issued_certs', rows: 1 } },
  node_liveness: {
    timed: {
      job: 'retention',
      keptFor: DAY,
      past: (before) => sql`last_heartbeat < ${before} and exists (select 1 from issued_certs c
        where c.cert_id = node_liveness.cert_id and c.expires_at < ${before})`,
    },
  },
  node_liveness_counts: { most: 100_000 },
  node_liveness_twins: { most: { each: 'issued_certs', rows: 1 } },
  nonces: { timed: timed('purge-nonces', 'expires_at', 10n * MINUTE), most: 1_000_000 },
  offer_makers: { timed: timed('purge-offer-makers', 'expires_at', 0n) },
  own_feed_ids: { most: { each: 'membership_attestations', rows: 1 } },
  own_feed_parts: { most: 256 },
  own_revocation_feeds: { most: 100 },
  partner_alarms: { most: { each: 'partners', rows: 1000 } },
  partner_sequences: { most: BY_OPERATORS },
  partner_texts: { most: { each: 'partners', rows: 100 } },
  partners: { most: BY_OPERATORS },
  policy_versions: { most: BY_OPERATORS },
  presented_certs: { timed: timed('retention', 'expires_at', HOUR), most: 1_000_000 },
  rate_limit_windows: {
    timed: {
      job: 'purge-limiter-windows',
      keptFor: 3n * MINUTE,
      past: (before) => sql`window_start < ${Number((readInstant(before) ?? 0n) / SECOND)}`,
    },
  },
  recognition_policies: { most: BY_OPERATORS },
  recognition_treaties: { most: 1_000_000 },
  recoveries: { most: 1000 },
  recovered_revocations: { most: BY_OPERATORS },
  removed_crl_versions: { timed: timed('crl-removal', 'removed_at', 400n * DAY) },
  removed_own_feeds: { timed: timed('feed-refresh', 'issued_at', 400n * DAY) },
  reported_treaties: { most: 1_000_000 },
  revoked_operator_keys: { most: BY_OPERATORS },
  schema_version: { most: 1000 },
  sovereign_revocation_feeds: { timed: timed('retention', 'imported_at', 400n * DAY, sql`digest is not null`) },
  stored_bytes: { timed: timed('count-bytes', 'day', 2n * DAY), most: 10_000_000 },
  table_rows: { timed: timed('table-rows', 'day', 32n * DAY) },
  used_evidence: { timed: timed('evidence-removal', 'expires_at', HOUR) },
}
