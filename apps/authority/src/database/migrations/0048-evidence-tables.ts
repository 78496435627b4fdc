/** Tables of the evidence store, of partners, of jobs and of counters. */
export const EVIDENCE_TABLES = `
-- One row, both the lock an append takes first and the place the chain goes on from.
create table evidence_head (
  id integer primary key, last_sequence bigint not null, last_digest text, last_recorded_at text,
  removed_through bigint not null, rejections bigint not null
);
-- line is the exported line, byte for byte; every other column only finds it. Uniqueness first
-- (protocol/trust-operations 6.3), then one index per search filter, each in store order.
create table evidence_entries (
  store_sequence bigint primary key, entry_kind text not null, recorded_at text not null,
  entry_digest text not null, decision_id text, vendor_id text, attestation_id text, capability text,
  outcome text, evidence_id text, exec_sequence_no bigint, resource_id text, resource_sequence bigint,
  record_digest text, line text not null
);
create unique index evidence_one_decision on evidence_entries (decision_id) where entry_kind = 'decision';
create unique index evidence_one_evidence_id on evidence_entries (evidence_id) where evidence_id is not null;
create unique index evidence_one_position on evidence_entries (decision_id, exec_sequence_no)
  where entry_kind = 'execution';
create unique index evidence_one_resource_position on evidence_entries (resource_id, resource_sequence)
  where resource_id is not null;
create index evidence_by_decision_id on evidence_entries (decision_id, store_sequence) where decision_id is not null;
create index evidence_by_vendor_id on evidence_entries (vendor_id, store_sequence) where vendor_id is not null;
create index evidence_by_attestation_id on evidence_entries (attestation_id, store_sequence)
  where attestation_id is not null;
create index evidence_by_capability on evidence_entries (capability, store_sequence) where capability is not null;
create index evidence_by_outcome on evidence_entries (outcome, store_sequence) where outcome is not null;
create index evidence_by_resource_id on evidence_entries (resource_id, store_sequence) where resource_id is not null;
create index evidence_by_kind on evidence_entries (entry_kind, store_sequence);
create index evidence_by_time on evidence_entries (recorded_at, store_sequence);
create table evidence_rejections (
  rejection_id text primary key, rejected_at text not null, code text not null, submitted_digest text not null,
  evidence_id text, decision_id text, resource_id text, executor_sovereign_id text
);
create index evidence_rejections_newest on evidence_rejections (rejected_at, rejection_id);
create table executor_keys (
  key_id text primary key, public_key text not null, executor_sovereign_id text not null,
  registered_at text not null, retired_at text
);
create table evidence_checkpoints (
  removed_through_sequence bigint primary key, checkpoint_id text not null unique, checkpoint_json text not null,
  created_at text not null
);
-- Heads of resources whose records were removed, out of the latest checkpoint: an append asks for one of them.
create table evidence_removed_heads (
  resource_id text primary key, resource_sequence bigint not null, record_digest text not null
);
create table evidence_anchors (
  anchor_sequence bigint primary key, store_sequence bigint not null unique, anchor_json text not null,
  anchored_at text not null
);
-- Hash tiles of the public log stay when entries go; a tile grows to 256 hashes and is then never written again.
create table evidence_log_tiles (
  level integer not null, tile bigint not null, hashes bytea not null,
  constraint evidence_log_tiles_key primary key (level, tile)
);
create table evidence_log_checkpoints (tree_size bigint primary key, note text not null, signed_at text not null);
create table instances (instance text primary key, operator_digest text not null, seen_at text not null);
-- known_until: the last change in the restored backup. Answers about the time between it and the recovery are unknown.
create table recoveries (
  position bigint primary key, recovered_at text not null, replay_floor text not null, known_until text
);
-- The state of the network, one row a minute, stored for a day, for the dashboard.
create table activity_minutes (
  minute text primary key, active bigint not null, tracked bigint not null, expiring bigint not null
);
-- Revoked attestations that a restored database lacks and only the saved feed names.
create table recovered_revocations (attestation_id text primary key, revocation_reason text);
-- A number for every audit event, in an order that no later event can slip in before; see audit/sequence.ts.
create table audit_numbers (sequence bigint primary key, event_id text not null unique);
create table audit_numbering (id integer primary key, last_sequence bigint not null, from_xact bigint, server text);
create table audit_forwards (
  name text primary key, sequence bigint not null, event_id text not null, updated_at text not null
);
create table former_keys (
  key_id text primary key, public_key text not null unique, succeeded_at text not null, lists_until text not null
);
create table former_crl_versions (
  key_id text not null, sequence bigint not null, crl_json text not null, next_update text not null,
  constraint former_crl_versions_key primary key (key_id, sequence)
);
-- What stays of list versions whose text was removed.
create table removed_crl_versions (sequence bigint primary key, digest text not null, removed_at text not null);
-- The operator key of each own offer, while the offer is open.
create table offer_makers (offer_id text primary key, operator_public_key text not null, expires_at text not null);
create index offer_makers_by_end on offer_makers (expires_at);
create table removed_own_feeds (
  sequence bigint primary key, feed_id text not null, issued_at text not null, digest text not null,
  ids bigint not null, cause text
);
create table own_feed_ids (
  attestation_id text primary key, part_key integer not null, revoked_at text not null, reason text not null,
  ends_at text not null, end_known integer not null, pruned integer not null
);
create index own_feed_ids_by_part on own_feed_ids (pruned, part_key);
create index own_feed_ids_by_time on own_feed_ids (pruned, revoked_at, attestation_id);
create index own_feed_ids_by_end on own_feed_ids (pruned, end_known, ends_at);
create table own_feed_parts (
  part integer primary key, count integer not null, digest text not null, part_json text not null
);
-- Submissions of unknown signers and repeated ones that became entries in the current minute and day.
create table evidence_rejection_counts (span text primary key, number bigint not null, singles bigint not null);
-- The next key as the root announces it (decision 0006).
create table key_succession (
  id integer primary key, key_id text not null, genesis_digest text not null, genesis_json text not null,
  history_json text not null, first_list_json text, phase text not null, announced_at text not null,
  switched_at text
);
create table imported_feed_parts (
  issuer_sovereign_id text not null, part_bits integer not null, part integer not null, digest text not null,
  constraint imported_feed_parts_key primary key (issuer_sovereign_id, part_bits, part)
);
create table imported_issuers (issuer_sovereign_id text primary key, ids bigint not null, confirmed_at text);
-- When something last happened: a write to see whether one can be made, a backup, a look at a feed.
create table moments (name text primary key, at text not null);
-- Counters of certificates, updated by triggers. SQLite has one writer and raises one row. On PostgreSQL each
-- statement adds a separate row, because a shared one would make all joins wait for each other; a job adds them up.
create table issued_counts (
  id text primary key, issued bigint not null, revoked bigint not null, removed bigint not null,
  removed_revoked bigint not null
);
create table partners (
  sovereign_id text collate "C" primary key, url text not null, pin_json text not null,
  import_feeds integer not null, interval_seconds integer not null, max_feed_age_seconds integer,
  allow_http integer not null, paused integer not null, label text, added_at text not null,
  added_by text not null, open_alarms integer not null, last_pull_at text, last_outcome text,
  last_duration_ms bigint, last_good_pull_at text, next_pull_at text not null, failures integer not null,
  pull_token text, pull_until text, asked_at text, treaties_as_of text, stored_json text not null
);
create index partners_by_next_pull on partners (paused, next_pull_at);
create table partner_texts (
  sovereign_id text collate "C" not null, material text not null, text text not null, stored_at text not null,
  constraint partner_texts_key primary key (sovereign_id, material)
);
create table partner_sequences (
  sovereign_id text collate "C" not null, pin_digest text not null, material text not null,
  sequence bigint not null, constraint partner_sequences_key primary key (sovereign_id, pin_digest, material)
);
create table partner_alarms (
  alarm_id text primary key, sovereign_id text collate "C" not null, kind text not null, material text not null,
  sequence bigint, held_digest text, offered_digest text, held_text text, offered_text text,
  raised_at text not null, cleared_at text
);
create index partner_alarms_in_order on partner_alarms (sovereign_id, raised_at);
create table reported_treaties (
  sovereign_id text collate "C" not null, treaty_id text collate "C" not null, subject_sovereign_id text not null,
  treaty_json text not null, digest text not null, valid_from text not null, expires_at text not null,
  starts_at text not null, ends_at text not null, hidden integer not null,
  constraint reported_treaties_key primary key (sovereign_id, treaty_id)
);
create index reported_treaties_by_subject on reported_treaties (subject_sovereign_id);
create table node_labels (node_public_key text primary key, label text not null, folded text not null);
create index node_labels_by_label on node_labels (folded collate "C", node_public_key);
-- Number of decisions, one row for each minute and kind of asker, stored for an hour, for the dashboard.
create table decision_minutes (
  minute text not null, asked_by text not null, authorized bigint not null, denied bigint not null,
  denied_for_freshness bigint not null, constraint decision_minutes_key primary key (minute, asked_by)
);
-- Which audit events name an id. The primary key has the order of a list by time.
create table audit_subjects (
  subject text not null, created_at text not null, event_id text not null,
  constraint audit_subjects_key primary key (subject, created_at, event_id)
) without rowid;
-- Filters and hourly counts of decisions. Entries are never changed, so the facts have their own table.
create table decision_facts (
  store_sequence bigint primary key, requester_sovereign_id text not null, failed_gate text
);
create index decision_facts_by_requester on decision_facts (requester_sovereign_id, store_sequence);
create index decision_facts_by_failed_gate on decision_facts (failed_gate, store_sequence)
  where failed_gate is not null;
create table decision_hours (
  hour text not null, split text not null, name text not null, outcome text not null, decisions bigint not null,
  constraint decision_hours_key primary key (split, hour, name, outcome)
);
create table decision_facts_head (
  id integer primary key, described_through bigint not null, present_through bigint not null
);
-- Texts that boundary policies name by their digest: policy sets and schemas of Cedar.
create table boundary_policy_texts (
  text_digest text not null primary key, text text not null, created_at text not null
);
create table admission_rules (
  rule_id text not null primary key, rule_json text not null, status text not null, joins integer not null,
  created_at text not null, created_by text not null, removed_at text, removed_by text, removal_reason text
);
-- Rules by which platform identities join, the evidence that was used, and the certificates it was used for.
create table used_evidence (
  evidence_key text not null primary key, node_public_key text not null, uses integer not null,
  expires_at text not null
);
create index used_evidence_by_end on used_evidence (expires_at);
create table admitted_certs (cert_id text not null primary key, rule_id text not null, expires_at text not null);
create index admitted_certs_by_rule on admitted_certs (rule_id, expires_at);
create index admitted_certs_by_end on admitted_certs (expires_at);
create table evidence_log_identity (id integer not null primary key, record_json text not null);
create table evidence_log_cosigned (
  id integer not null primary key, tree_size bigint not null, note text, cosigners integer not null,
  cosigned_at text, pending_since text
);
create table evidence_log_witnesses (
  name text not null primary key, verifier_key text not null, known_size bigint not null, cosigned_at text,
  tried_at text not null, failure text, alarm text, alarm_at text, alarm_size bigint, proof_note text
);
-- Rows of node_liveness that are neither marked as silent nor superseded, counted by triggers. Twins are keys that may
-- have several such rows and count once. The names follow that of node_liveness: a copy of the database replaces these
-- rows after its rows.
create table node_liveness_counts (id text primary key, live bigint not null);
create table node_liveness_twins (node_public_key text primary key);
-- Intervals that nodes were asked for.
create table heartbeat_paces (seconds integer primary key, until text not null);
-- The number of rows of each table, once a day.
create table table_rows (
  table_name text not null, day text not null, row_count bigint not null,
  constraint table_rows_key primary key (table_name, day)
);
-- Bodies are compressed.
create table crl_segments (
  bucket bigint not null, sequence bigint not null, body bytea not null, replaced_by bigint,
  constraint crl_segments_pk primary key (bucket, sequence)
);
create index crl_segments_by_replacement on crl_segments (replaced_by);
`
