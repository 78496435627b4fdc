import type { ColumnType, Generated } from 'kysely'
import type {
  AdmissionTables,
  DecisionTables,
  LimitTables,
  LivenessTables,
  LogTables,
  UpkeepTables,
} from './feature-tables.ts'
import type { PartnerTables } from './partner-tables.ts'

/**
 * One schema for both engines. Times are fixed-width UTC text with six digits, so they sort alike in both; flags are
 * 0 or 1; `*_json` holds a record as it was signed, so that its canonical form reproduces the signed bytes.
 */
export interface Tables
  extends AdmissionTables, DecisionTables, LimitTables, LivenessTables, LogTables, PartnerTables, UpkeepTables {
  schema_version: { version: number; applied_at: string; serves_from?: number | null }
  heads: { name: string; version: ColumnType<number, number, number> }
  nonces: { claim: Uint8Array; expires_at: string }
  audit_events: { event_id: string; event_type: string; event_json: string; created_at: string }
  /** Ids that an event names; see audit/insert.ts. */
  audit_subjects: { subject: string; created_at: string; event_id: string }
  audit_numbers: { sequence: number; event_id: string }
  audit_forwards: { name: string; sequence: number; event_id: string; updated_at: string }
  revoked_operator_keys: {
    key_id: string
    revoked_at: string
    reason: string
    revoked_by: string
    /** Null in rows that an earlier release wrote. */
    public_key: ColumnType<string | null, string | null | undefined, string | null>
  }
  policy_versions: { position: number; policy_id: string; policy_json: string; active: number; created_at: string }
  crl_versions: {
    sequence: number
    crl_json: string
    issued_at: string
    next_update: string
    entries: number
    /** The signed head, the size of the text, what it changed; null of versions of before. */
    head_json: ColumnType<string | null, string | null | undefined, string | null>
    bytes: ColumnType<number | null, number | null | undefined, number | null>
    change_json: ColumnType<string | null, string | null | undefined, string | null>
    /** Of a large list, whose `crl_json` is empty: the text without entries, its segments, the digest of the text. */
    frame_json: ColumnType<string | null, string | null | undefined, string | null>
    segments_json: ColumnType<string | null, string | null | undefined, string | null>
    digest: ColumnType<string | null, string | null | undefined, string | null>
  }
  /** Entries of large lists, compressed: those with positions of one bucket, as of the version that wrote them. */
  crl_segments: {
    bucket: number
    sequence: number
    body: Uint8Array
    /** The first version without it; null while the current version has it. */
    replaced_by: ColumnType<number | null, number | null | undefined, number | null>
  }
  /** Numbers and digests of versions whose text is gone: the line has no gap, and marks can still be compared. */
  removed_crl_versions: { sequence: number; digest: string; removed_at: string }
  crl_entries: { position: number; cert_id: string; entry_json: string; expires_at: string }
  former_keys: { key_id: string; public_key: string; succeeded_at: string; lists_until: string }
  /** One row at most: the succession under way, or the last one. */
  key_succession: {
    id: number
    key_id: string
    genesis_digest: string
    genesis_json: string
    history_json: string
    first_list_json: string | null
    phase: string
    announced_at: string
    switched_at: string | null
    /** While the key is switched: the stage, and the id of the attempt. */
    switch_stage: string | null
    first_list_at: string | null
  }
  former_crl_versions: { key_id: string; sequence: number; crl_json: string; next_update: string }
  invite_tokens: {
    token_digest: string
    assigned_roles_json: string
    max_validity_hours: number
    recipient_public_key: string | null
    created_at: string
    expires_at: string
    /** Also set when it was withdrawn, so that a release that reads only this column refuses it. */
    used_at: string | null
    used_by_key: string | null
    created_by: string | null
    batch_id: string | null
    withdrawn_at: string | null
    withdrawn_by: string | null
    /** What the node key is called after the join. */
    label: string | null
  }
  issued_certs: {
    cert_id: string
    node_public_key: string
    cert_json: string
    roles_json: string
    issued_at: string
    expires_at: string
    max_validity_hours: number
    status: string
    renewed_from: string | null
    revoke_after: string | null
    /** When a superseded certificate is due for the list; null when it never is, or is already listed. */
    list_after: string | null
    revoked_at: string | null
    revocation_reason: string | null
  }
  /** `folded` is the form that searches compare. */
  node_labels: { node_public_key: string; label: string; folded: string }
  /** Added up over all rows; see database/certificate-counts.ts. */
  issued_counts: { id: string; issued: number; revoked: number; removed: number; removed_revoked: number }
  agent_registrations: {
    node_public_key: string
    agent_id: string
    descriptor_json: string
    /** Sorted and without repetition: equal texts mean equal postings. */
    capabilities_json: string
    registered_at: string
    expires_at: string
    listed: number
    /** Of the endpoint. Null of a registration that an earlier release stored. */
    host: ColumnType<string | null, string | null | undefined, string | null>
  }
  agent_capabilities: { capability: string; node_public_key: string }
  agent_capability_counts: { capability: string; agents: number }
  agent_tombstones: { node_public_key: string; signed_at: string; keep_until: string }
  membership_attestations: {
    attestation_id: string
    issuer_sovereign_id: string
    subject_id: string
    status: string
    attestation_json: string
    issued_at: string
    published: number
    revoked_at: string | null
    revocation_reason: string | null
  }
  recognition_policies: { position: number; policy_id: string; policy_json: string; active: number; created_at: string }
  recognition_treaties: {
    treaty_id: string
    issuer_sovereign_id: string
    subject_sovereign_id: string
    status: string
    treaty_json: string
    issued_at: string
    valid_from: string
    expires_at: string
    revoked_at: string | null
    revocation_reason: string | null
  }
  data_license_policies: {
    position: number
    policy_id: string
    policy_json: string
    active: number
    created_at: string
    in_force_for: string | null
  }
  own_revocation_feeds: {
    sequence: number
    feed_json: string
    issued_at: string
    /** Null in versions of before the feed had parts. */
    index_json: string | null
    total_ids: number | null
    cause: string | null
    feed_id: string | null
    digest: string | null
    ids: number | null
  }
  removed_own_feeds: {
    sequence: number
    feed_id: string
    issued_at: string
    digest: string
    ids: number
    cause: string | null
  }
  own_feed_ids: {
    attestation_id: string
    /** First byte of SHA-256 of the id. */
    part_key: number
    revoked_at: string
    reason: string
    ends_at: string
    end_known: number
    pruned: number
  }
  own_feed_parts: { part: number; count: number; digest: string; part_json: string }
  imported_feed_parts: { issuer_sovereign_id: string; part_bits: number; part: number; digest: string }
  /** `confirmed_at`: when its feed was last found to be the one that is held. */
  imported_issuers: { issuer_sovereign_id: string; ids: number; confirmed_at: string | null }
  sovereign_revocation_feeds: {
    issuer_sovereign_id: string
    sequence: number
    feed_id: string
    feed_json: string
    revoked_count: number
    imported_at: string
    complete: Generated<number>
    digest: string | null
  }
  imported_sovereign_revocations: {
    issuer_sovereign_id: string
    attestation_id: string
    feed_id: string
    sequence: number
    reason: string | null
    imported_at: string
  }
  boundary_policies: {
    policy_id: string
    version: number
    policy_json: string
    policy_digest: string
    active: number
    created_at: string
    activated_at: string | null
    deactivated_at: string | null
  }
  boundary_policy_texts: { text_digest: string; text: string; created_at: string }
  evidence_head: {
    id: number
    last_sequence: number
    last_digest: string | null
    last_recorded_at: string | null
    /** Everything up to here is behind the latest checkpoint, deleted or about to be. */
    removed_through: number
    rejections: number
    /** The last entry that the counters of budgets include. */
    budget_sequence: ColumnType<number, number | undefined, number>
  }
  evidence_entries: {
    store_sequence: number
    entry_kind: string
    recorded_at: string
    entry_digest: string
    decision_id: string | null
    vendor_id: string | null
    attestation_id: string | null
    capability: string | null
    outcome: string | null
    evidence_id: string | null
    exec_sequence_no: number | null
    resource_id: string | null
    resource_sequence: number | null
    /** Of executions: the digest the next record of its chains must name. */
    record_digest: string | null
    /** The exported line, byte for byte. */
    line: string
  }
  evidence_rejections: {
    rejection_id: string
    rejected_at: string
    code: string
    submitted_digest: string
    evidence_id: string | null
    decision_id: string | null
    resource_id: string | null
    executor_sovereign_id: string | null
  }
  evidence_rejection_counts: { span: string; number: number; singles: number }
  executor_keys: {
    key_id: string
    public_key: string
    executor_sovereign_id: string
    registered_at: string
    retired_at: string | null
  }
  evidence_checkpoints: {
    removed_through_sequence: number
    checkpoint_id: string
    checkpoint_json: string
    created_at: string
  }
  evidence_removed_heads: { resource_id: string; resource_sequence: number; record_digest: string }
  evidence_anchors: { anchor_sequence: number; store_sequence: number; anchor_json: string; anchored_at: string }
  /** `expiring`: certificates in use that end within a day. */
  activity_minutes: { minute: string; active: number; tracked: number; expiring: number }
  /** `denied_for_freshness`: the part of `denied` about members of partners whose feed is too old. */
  decision_minutes: {
    minute: string
    asked_by: string
    authorized: number
    denied: number
    denied_for_freshness: number
  }
  /** `known_until`: the last change in the backup, if known. With rows only, `replay_floor` is below `recovered_at`. */
  recoveries: { position: number; recovered_at: string; replay_floor: string; known_until: string | null }
  offer_makers: { offer_id: string; operator_public_key: string; expires_at: string }
  recovered_revocations: { attestation_id: string; revocation_reason: string | null }
  /** When something last happened, by name; one row for each. */
  moments: { name: string; at: string }
}
