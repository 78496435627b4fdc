import type { TableName } from './table-ends.ts'

/** Rows that requests of others cause. */
export interface CallerShare {
  /** To whom they count. */
  readonly owner: 'address' | 'key' | 'partner'
  /** What limits one owner: a setting, or the file below src that has the number. */
  readonly share: `NA_${string}` | `${string}.ts`
}

const shareOf = (owner: CallerShare['owner'], share: CallerShare['share']): CallerShare => ({ owner, share })

/** One certificate of a node key: a join needs an invite or a rule of an operator. */
const CERTIFICATES = shareOf('key', 'NA_RATE_LIMIT_RENEW_PER_KEY_PER_HOUR')
const JOINS = shareOf('address', 'NA_RATE_LIMIT_JOIN_PER_MINUTE')
const AGENTS = shareOf('address', 'NA_RATE_LIMIT_DISCOVER_PER_MINUTE')
const DECISIONS = shareOf('key', 'NA_DECISION_BYTES_PER_KEY_PER_DAY')
const APPROVALS = shareOf('key', 'NA_APPROVALS_MAX_PENDING_PER_ASKER')
const REFUSALS = shareOf('address', 'audit/refusal-shares.ts')
const PULLED = shareOf('partner', 'features/partners/read-treaties.ts')
const IMPORTED = shareOf('partner', 'features/revocation-feeds/import-capacity.ts')

/**
 * Who makes a table grow: its operators, the authority itself, or callers, who have a share each. When the rows end is
 * in TABLE_ENDS. A table without an entry does not compile.
 */
export const TABLE_SHARES: Readonly<Record<TableName, CallerShare | 'operators' | 'authority'>> = {
  activity_minutes: 'authority',
  admission_rules: 'operators',
  admitted_certs: CERTIFICATES,
  agent_capabilities: AGENTS,
  agent_capability_counts: AGENTS,
  agent_registrations: AGENTS,
  agent_tombstones: AGENTS,
  approval_notices: APPROVALS,
  approval_statements: 'operators',
  approval_uses: DECISIONS,
  approvals: APPROVALS,
  audit_events: REFUSALS,
  audit_forwards: 'operators',
  audit_numbering: 'authority',
  audit_numbers: REFUSALS,
  audit_subjects: REFUSALS,
  authority_identity: 'authority',
  boundary_policies: 'operators',
  boundary_policy_texts: 'operators',
  budget_sums: DECISIONS,
  budget_uses: DECISIONS,
  budgets: DECISIONS,
  crl_entries: 'operators',
  crl_segments: 'authority',
  crl_versions: 'authority',
  data_license_policies: 'operators',
  decision_facts: DECISIONS,
  decision_facts_head: 'authority',
  decision_hours: DECISIONS,
  decision_minutes: 'authority',
  evidence_anchors: 'authority',
  evidence_checkpoints: 'operators',
  evidence_entries: DECISIONS,
  evidence_head: 'authority',
  evidence_log_checkpoints: 'authority',
  evidence_log_cosigned: 'authority',
  evidence_log_identity: 'authority',
  evidence_log_tiles: 'authority',
  evidence_log_witnesses: 'operators',
  evidence_rejection_counts: 'authority',
  evidence_rejections: shareOf('address', 'features/evidence/rejections.ts'),
  evidence_removed_heads: 'operators',
  executor_keys: 'operators',
  former_crl_versions: 'authority',
  former_keys: 'operators',
  heads: 'authority',
  heartbeat_paces: 'authority',
  idempotency_keys: DECISIONS,
  imported_feed_parts: IMPORTED,
  imported_issuers: 'operators',
  imported_sovereign_revocations: IMPORTED,
  instances: 'authority',
  invite_tokens: 'operators',
  issued_certs: CERTIFICATES,
  issued_counts: 'authority',
  job_leases: 'authority',
  key_succession: 'operators',
  membership_attestations: 'operators',
  moments: 'authority',
  node_labels: 'operators',
  node_liveness: CERTIFICATES,
  node_liveness_counts: 'authority',
  node_liveness_twins: CERTIFICATES,
  nonces: shareOf('key', 'NA_RATE_LIMIT_NODE_KEY_PER_MINUTE'),
  offer_makers: 'operators',
  own_feed_ids: 'operators',
  own_feed_parts: 'authority',
  own_revocation_feeds: 'authority',
  partner_alarms: shareOf('partner', 'features/partners/queries/alarms.ts'),
  partner_sequences: 'operators',
  partner_texts: shareOf('partner', 'features/partners/store-pull.ts'),
  partners: 'operators',
  policy_versions: 'operators',
  presented_certs: shareOf('address', 'features/enrollment/present.ts'),
  rate_limit_windows: shareOf('address', 'NA_RATE_LIMIT_NODE_PER_MINUTE'),
  recognition_policies: 'operators',
  recognition_treaties: 'operators',
  recoveries: 'operators',
  recovered_revocations: 'operators',
  removed_crl_versions: 'authority',
  removed_own_feeds: 'authority',
  reported_treaties: PULLED,
  revoked_operator_keys: 'operators',
  schema_version: 'authority',
  sovereign_revocation_feeds: IMPORTED,
  stored_bytes: DECISIONS,
  table_rows: 'authority',
  used_evidence: JOINS,
}
