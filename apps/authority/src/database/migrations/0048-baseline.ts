// oxlint-disable max-lines -- the whole schema of a release
import { sql } from 'kysely'
import type { ColumnTypes, Migration, Query } from '../database.ts'
import { PARTITION_EVENTS, auditedDetail, partitionSize, roomBelow } from '../partitions/audit-partitions.ts'

/** The schema of release 0.2.0 at once. Databases of releases before it are refused. */
export const baseline: Migration = {
  version: 48,
  async up(tx, types) {
    const own = types.backend === 'sqlite' ? SQLITE : POSTGRES
    for (const statement of [...tablesOf(types), ...own]) await sql.raw(statement).execute(tx)
    await insertFirstRows(tx)
  },
}

/** Rows that are locked or counted up, so that they must exist. */
async function insertFirstRows(tx: Query): Promise<void> {
  const heads = ['operator-keys', 'crl', 'policy', 'recognition-policy', 'treaties', 'feed', 'imports']
  heads.push('boundary-policies', 'data-usage', 'evidence-anchors', 'partners', 'admission')
  await tx
    .insertInto('heads')
    .values(heads.map((name) => ({ name, version: 0 })))
    .execute()
  await tx.insertInto('evidence_head').values({ id: 1, last_sequence: 0, removed_through: 0, rejections: 0 }).execute()
  const spans = ['minute', 'day', 'duplicate-minute', 'duplicate-day']
  await tx
    .insertInto('evidence_rejection_counts')
    .values(spans.map((span) => ({ span, number: 0, singles: 0 })))
    .execute()
  await tx.insertInto('decision_facts_head').values({ id: 1, described_through: 0, present_through: 0 }).execute()
  await tx
    .insertInto('issued_counts')
    .values({ id: '', issued: 0, revoked: 0, removed: 0, removed_revoked: 0 })
    .execute()
  await tx.insertInto('node_liveness_counts').values({ id: '', live: 0 }).execute()
}

/** In the words of PostgreSQL. `collate "C"` orders by code point as SQLite does, and serves a search by prefix. */
function tablesOf({ backend, bigint, binary }: ColumnTypes): readonly string[] {
  return TABLES.replaceAll('bigint', bigint)
    .replaceAll('bytea', binary)
    .replaceAll(backend === 'sqlite' ? ' collate "C"' : ' without rowid', '')
    .replaceAll(/DETAIL_(treaty_id|rule_id)/g, (_, name: 'treaty_id' | 'rule_id') => auditedDetail(backend, name))
    .trim()
    .split(';\n')
}

const TABLES = `
create table authority_identity (
  id integer primary key, network_name text not null, public_key text not null, created_at text not null
);
create table heads (name text primary key, version bigint not null);
create table nonces (claim bytea primary key, expires_at text not null);
create index nonces_by_expiry on nonces (expires_at);
create table audit_events (
  event_id text primary key, event_type text not null, event_json text not null, created_at text not null
);
create index audit_events_by_type on audit_events (event_type, created_at);
create index audit_events_by_time on audit_events (created_at);
-- An audit event shows a revocation or removal, because the status column is not signed and a row can be put back.
create index audit_events_by_revoked_treaty on audit_events (DETAIL_treaty_id)
  where event_type = 'recognition_treaty_revoked';
-- Without it every start reads the audit log back to the last change of operators.
create index audit_events_operator_changes on audit_events (created_at desc)
  where event_type = 'operator_keys_changed';
create index audit_events_by_removed_rule on audit_events (DETAIL_rule_id)
  where event_type = 'admission_rule_removed';
create table revoked_operator_keys (
  key_id text primary key, revoked_at text not null, reason text not null, revoked_by text not null,
  public_key text
);
create table policy_versions (
  position bigint primary key, policy_id text not null unique, policy_json text not null, active integer not null,
  created_at text not null
);
-- The second guard behind the head lock: two active versions cannot be stored.
create unique index policy_versions_one_active on policy_versions (active) where active = 1;
-- A large list is stored in segments that versions share: its text is its frame with the segments between its
-- brackets, and its crl_json is empty. head_json is its signed head, change_json what it changed.
create table crl_versions (
  sequence bigint primary key, crl_json text not null, issued_at text not null, next_update text not null,
  entries integer not null, head_json text, bytes integer, change_json text, frame_json text, segments_json text,
  digest text
);
create index crl_versions_by_end on crl_versions (next_update);
-- The live entries, each in its signed form: a new version appends instead of parsing the last one.
create table crl_entries (
  position bigint primary key, cert_id text not null unique, entry_json text not null, expires_at text not null
);
create index crl_entries_by_expiry on crl_entries (expires_at);
create table invite_tokens (
  token_digest text primary key, assigned_roles_json text not null, max_validity_hours integer not null,
  recipient_public_key text, created_at text not null, expires_at text not null, used_at text, used_by_key text,
  created_by text, batch_id text, withdrawn_at text, withdrawn_by text, label text
);
create index invite_tokens_by_time on invite_tokens (created_at, token_digest);
create index invite_tokens_by_maker on invite_tokens (created_by);
create index invite_tokens_by_batch on invite_tokens (batch_id);
create index invite_tokens_by_fingerprint on invite_tokens (substr(token_digest, 1, 16));
create index invite_tokens_by_user on invite_tokens (used_by_key) where used_by_key is not null;
create table issued_certs (
  cert_id text primary key, node_public_key text not null, cert_json text not null, roles_json text not null,
  issued_at text not null, expires_at text not null, max_validity_hours integer not null, status text not null,
  renewed_from text, revoke_after text, list_after text, revoked_at text, revocation_reason text
);
-- Small partial indexes for frequent queries: certificates due for the list, and compromised keys.
create index issued_certs_due on issued_certs (list_after) where list_after is not null;
create index issued_certs_compromised on issued_certs (node_public_key) where revocation_reason = 'key_compromise';
create index issued_certs_renewals on issued_certs (node_public_key, issued_at) where renewed_from is not null;
create index issued_certs_successors on issued_certs (renewed_from) where renewed_from is not null;
-- Certificates that have ended or end within a day.
create index issued_certs_by_end on issued_certs (expires_at, status, revoke_after);
-- The certificate inventory. A search by label reads issue times from the index by key, and no rows.
create index issued_certs_newest on issued_certs (issued_at desc, cert_id);
create index issued_certs_newest_of_key on issued_certs (node_public_key, issued_at, cert_id);
create index issued_certs_newest_revoked on issued_certs (issued_at desc, cert_id) where status = 'revoked';
create index issued_certs_newest_superseded on issued_certs (issued_at desc, cert_id)
  where status = 'issued' and revoke_after is not null;
create index issued_certs_ending on issued_certs (expires_at, cert_id);
create table node_liveness (
  cert_id text primary key, last_heartbeat text not null, heartbeat_status text not null,
  remote_addr text not null, revoke_after text, node_public_key text, genesis_digest text, silent_since text,
  signed_at bigint
);
-- Nodes without a recent heartbeat are marked: an index on the time itself would be changed by every heartbeat.
create index node_liveness_silent on node_liveness (silent_since, cert_id) where silent_since is not null;
create index node_liveness_by_address on node_liveness (remote_addr collate "C", cert_id);
create index node_liveness_superseded on node_liveness (revoke_after) where revoke_after is not null;
create table idempotency_keys (
  scope text not null, idempotency_key text not null, body_digest text not null, answer_json text,
  status integer not null, expires_at text not null,
  constraint idempotency_keys_key primary key (scope, idempotency_key)
);
create index idempotency_keys_by_expiry on idempotency_keys (expires_at);
create table rate_limit_windows (
  bucket text not null, window_start bigint not null, hits bigint not null,
  constraint rate_limit_windows_key primary key (bucket, window_start)
);
create table job_leases (
  name text primary key, holder text not null, token bigint not null, acquired_at text not null,
  expires_at text not null
);
-- listed is 0 after the postings are removed: the row then only records the newest descriptor.
create table agent_registrations (
  node_public_key text primary key, agent_id text not null, descriptor_json text not null,
  capabilities_json text not null, registered_at text not null, expires_at text not null, listed integer not null,
  host text
);
create index agent_registrations_newest on agent_registrations (registered_at desc, node_public_key);
create index agent_registrations_expiry on agent_registrations (expires_at) where listed = 1;
create index agent_registrations_unlisted on agent_registrations (registered_at) where listed = 0;
create index agent_registrations_by_id on agent_registrations (agent_id collate "C", node_public_key)
  where listed = 1;
create index agent_registrations_by_host on agent_registrations (host collate "C", node_public_key) where listed = 1;
-- No time in a posting: a refresh that keeps its capabilities does not touch them.
create table agent_capabilities (
  capability text not null, node_public_key text not null,
  constraint agent_capabilities_key primary key (capability, node_public_key)
);
create table agent_capability_counts (capability text primary key, agents bigint not null);
-- The most common tag is asked for in every search.
create index agent_capability_counts_most on agent_capability_counts (agents);
create index agent_capability_counts_listed on agent_capability_counts (agents desc, capability collate "C");
create table agent_tombstones (node_public_key text primary key, signed_at text not null, keep_until text not null);
-- published: the mesh may show it, as its claims say.
create table membership_attestations (
  attestation_id text primary key, issuer_sovereign_id text not null, subject_id text not null,
  status text not null, attestation_json text not null, issued_at text not null, revoked_at text,
  revocation_reason text, published integer not null default 0
);
create index attestations_in_order on membership_attestations (issued_at, attestation_id);
create index attestations_by_subject on membership_attestations (subject_id, issued_at);
create index attestations_by_status on membership_attestations (status, issued_at);
create index attestations_published on membership_attestations (issued_at, attestation_id) where published = 1;
create index attestations_published_by_status on membership_attestations (status, issued_at, attestation_id)
  where published = 1;
create index attestations_by_withdrawal on membership_attestations (revoked_at, attestation_id)
  where status = 'revoked';
create table recognition_policies (
  position bigint primary key, policy_id text not null, policy_json text not null, active integer not null,
  created_at text not null
);
create unique index recognition_policies_one_active on recognition_policies (active) where active = 1;
create table recognition_treaties (
  treaty_id text primary key, issuer_sovereign_id text not null, subject_sovereign_id text not null,
  status text not null, treaty_json text not null, issued_at text not null, valid_from text not null,
  expires_at text not null, revoked_at text, revocation_reason text
);
create index treaties_in_order on recognition_treaties (issued_at, treaty_id);
create index treaties_by_subject on recognition_treaties (subject_sovereign_id, issued_at);
create index recognition_treaties_by_end on recognition_treaties (expires_at, treaty_id);
create index recognition_treaties_by_prefix on recognition_treaties (subject_sovereign_id collate "C");
-- Texts of older versions give way to their digests, and ids that were pruned stay known.
create table own_revocation_feeds (
  sequence bigint primary key, feed_json text not null, issued_at text not null, index_json text,
  total_ids bigint, cause text, feed_id text, digest text, ids bigint
);
-- complete: all ids of the issuer are known.
create table sovereign_revocation_feeds (
  issuer_sovereign_id text not null, sequence bigint not null, feed_id text not null, feed_json text not null,
  revoked_count integer not null, imported_at text not null, complete integer not null default 1, digest text,
  constraint sovereign_revocation_feeds_key primary key (issuer_sovereign_id, sequence)
);
create index sovereign_revocation_feeds_removed on sovereign_revocation_feeds (imported_at) where digest is not null;
create table imported_sovereign_revocations (
  issuer_sovereign_id text not null, attestation_id text not null, feed_id text not null,
  sequence bigint not null, reason text, imported_at text not null,
  constraint imported_sovereign_revocations_key primary key (issuer_sovereign_id, attestation_id)
);
create index imported_sovereign_revocations_newest on imported_sovereign_revocations
  (imported_at desc, issuer_sovereign_id, attestation_id);
create table boundary_policies (
  policy_id text collate "C" not null, version bigint not null, policy_json text not null,
  policy_digest text not null, active integer not null, created_at text not null, activated_at text,
  deactivated_at text, constraint boundary_policies_key primary key (policy_id, version)
);
create unique index boundary_policies_one_active on boundary_policies (policy_id) where active = 1;
create table data_license_policies (
  position bigint primary key, policy_id text not null unique, policy_json text not null, active integer not null,
  created_at text not null
);
create unique index data_license_policies_one_active on data_license_policies (active) where active = 1;
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

const isLive = (row: string): string => `(${row}.revoke_after is null and ${row}.silent_since is null)`

/**
 * The database itself refuses to change an entry, and to delete one that no checkpoint covers, so a wrong statement
 * fails. The owner of the database can remove the trigger. Then the chain, the anchors and the log show the change.
 */
const SQLITE = [
  `create trigger evidence_entries_fixed before update on evidence_entries begin
    select raise(abort, 'evidence entries are never changed'); end`,
  `create trigger evidence_entries_kept before delete on evidence_entries
    when old.store_sequence > (select coalesce(max(removed_through_sequence), 0) from evidence_checkpoints) begin
    select raise(abort, 'evidence entries are removed by retention only'); end`,
  // One writer at a time: what is numbered inside its transaction is numbered in the order of the commits.
  `create trigger audit_events_numbered after insert on audit_events begin
    insert into audit_numbers (event_id) values (new.event_id); end`,
  `create trigger issued_certs_added after insert on issued_certs begin
    update issued_counts set issued = issued + 1, revoked = revoked + (new.status = 'revoked') where id = ''; end`,
  `create trigger issued_certs_changed after update of status on issued_certs when old.status <> new.status begin
    update issued_counts set revoked = revoked + (new.status = 'revoked') - (old.status = 'revoked') where id = ''; end`,
  `create trigger issued_certs_gone after delete on issued_certs begin
    update issued_counts set issued = issued - 1, revoked = revoked - (old.status = 'revoked') where id = ''; end`,
  `create trigger node_liveness_added after insert on node_liveness begin
    update node_liveness_counts set live = live + ${isLive('new')} where id = '';
    insert into node_liveness_twins (node_public_key) select new.node_public_key
      where new.revoke_after is null and exists (select 1 from issued_certs k join node_liveness m on m.cert_id = k.cert_id
        where k.node_public_key = new.node_public_key and m.cert_id <> new.cert_id and m.revoke_after is null)
      on conflict do nothing; end`,
  `create trigger node_liveness_changed after update of revoke_after, silent_since on node_liveness
    when ${isLive('old')} <> ${isLive('new')} begin
    update node_liveness_counts set live = live + ${isLive('new')} - ${isLive('old')} where id = ''; end`,
  `create trigger node_liveness_gone after delete on node_liveness begin
    update node_liveness_counts set live = live - ${isLive('old')} where id = ''; end`,
]

const POSTGRES = [
  // Room on each page: a row is rewritten in place, and a heartbeat touches no index.
  'alter table node_liveness set (fillfactor = 70)',
  'alter table agent_registrations set (fillfactor = 80)',
  'alter table crl_segments alter column body set storage external',
  // On SQLite issued_certs_newest_of_key and the primary keys of the other two serve prefixes.
  'create index issued_certs_by_key_prefix on issued_certs (node_public_key collate "C", cert_id)',
  'create index agent_capabilities_by_prefix on agent_capabilities (capability collate "C", node_public_key)',
  'create index agent_capability_counts_by_prefix on agent_capability_counts (capability collate "C")',
  'insert into audit_numbering (id, last_sequence) values (1, 0)',
  // The transaction of an event, from which it is numbered.
  'alter table audit_events add column xact bigint default (pg_current_xact_id()::text::bigint)',
  'create index audit_events_by_xact on audit_events (xact)',
  // The position by which audit events, their numbers and their subjects are partitioned when they are large. Numbers
  // and subjects are inserted without the position of their event: they take the last one given.
  'create sequence audit_positions',
  // So that it has a last value.
  "select nextval('audit_positions')",
  partitionSize(PARTITION_EVENTS),
  // Without partitions positions have no end. The largest integer that the program reads exactly.
  roomBelow(Number.MAX_SAFE_INTEGER),
  // A role that may insert events, such as one for exports.
  `do $$ declare other record; begin
    for other in select distinct a.grantee from pg_class c, aclexplode(c.relacl) a
      where c.oid in ('audit_events'::regclass, 'audit_numbers'::regclass)
        and a.privilege_type = 'INSERT' and a.grantee <> c.relowner loop
      execute format('grant usage on sequence audit_positions to %s',
        case when other.grantee = 0 then 'public' else quote_ident(pg_get_userbyid(other.grantee)) end);
    end loop; end $$`,
  `alter table audit_events add column position bigint not null
    default audit_within_room(nextval('audit_positions'::regclass))`,
  ...['audit_numbers', 'audit_subjects'].map(
    (table) => `alter table ${table} add column position bigint not null
      default audit_within_room(pg_sequence_last_value('audit_positions'::regclass))`,
  ),
  `create function evidence_entries_guard() returns trigger language plpgsql as $$
    begin
      if tg_op = 'DELETE' and old.store_sequence <= (select coalesce(max(removed_through_sequence), 0) from evidence_checkpoints) then
        return old;
      end if;
      raise exception 'evidence entries are never changed, and removed by retention only';
    end $$`,
  `create trigger evidence_entries_fixed before update or delete on evidence_entries
    for each row execute function evidence_entries_guard()`,
  `create trigger evidence_entries_whole before truncate on evidence_entries
    for each statement execute function evidence_entries_guard()`,
  // A unique index of a partition does not see the others, so a trigger of the partitioned table calls this function.
  // Appends are made one after the other, under the lock of the head, so what is compared here is complete. Entries of
  // the same partition are not compared: `here` is its first one. Its argument is the size of partitions.
  `create function evidence_entries_unique() returns trigger language plpgsql
    set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
    set plan_cache_mode = force_generic_plan as $$
    declare
      here bigint := (select max(store_sequence) / tg_argv[0]::bigint * tg_argv[0]::bigint from added);
      repeated text;
    begin
      if here is null or here <= 0 then return null; end if;
      select name into repeated from (
        select 'evidence_one_decision' as name from added a join evidence_entries e on e.decision_id = a.decision_id
          where a.entry_kind = 'decision' and e.entry_kind = 'decision'
          and e.store_sequence < here and e.store_sequence <> a.store_sequence
        union all
        select 'evidence_one_evidence_id' from added a join evidence_entries e on e.evidence_id = a.evidence_id
          where e.store_sequence < here and e.store_sequence <> a.store_sequence
        union all
        select 'evidence_one_position' from added a join evidence_entries e
          on e.decision_id = a.decision_id and e.exec_sequence_no = a.exec_sequence_no
          where a.entry_kind = 'execution' and e.entry_kind = 'execution'
          and e.store_sequence < here and e.store_sequence <> a.store_sequence
        union all
        select 'evidence_one_resource_position' from added a join evidence_entries e
          on e.resource_id = a.resource_id and e.resource_sequence = a.resource_sequence
          where e.store_sequence < here and e.store_sequence <> a.store_sequence
      ) as same limit 1;
      if repeated is not null then
        raise unique_violation using message = 'an earlier partition has the same value', constraint = repeated;
      end if;
      return null;
    end $$`,
  `create or replace function issued_certs_counted() returns trigger language plpgsql as $$
    declare
      more bigint := 0;
      revocations bigint := 0;
    begin
      if tg_op = 'INSERT' then
        select count(*), count(*) filter (where status = 'revoked') into more, revocations from rows_after;
      elsif tg_op = 'DELETE' then
        select -count(*), -count(*) filter (where status = 'revoked') into more, revocations from rows_before;
      else
        revocations := (select count(*) from rows_after where status = 'revoked')
          - (select count(*) from rows_before where status = 'revoked');
      end if;
      if more <> 0 or revocations <> 0 then
        insert into issued_counts (id, issued, revoked, removed, removed_revoked)
          values (gen_random_uuid()::text, more, revocations, 0, 0);
      end if;
      return null;
    end $$`,
  `create trigger issued_certs_added after insert on issued_certs referencing new table as rows_after
    for each statement execute function issued_certs_counted()`,
  `create trigger issued_certs_changed after update on issued_certs referencing old table as rows_before new table as rows_after
    for each statement execute function issued_certs_counted()`,
  `create trigger issued_certs_gone after delete on issued_certs referencing old table as rows_before
    for each statement execute function issued_certs_counted()`,
  // Two joins of one key at the same time do not see each other: a job finds such keys.
  `create or replace function node_liveness_counted() returns trigger language plpgsql as $$
    declare
      more bigint := 0;
    begin
      if tg_op = 'UPDATE' then
        more := case when ${isLive('new')} then 1 else -1 end;
      elsif tg_op = 'DELETE' then
        select -count(*) into more from rows_before where revoke_after is null and silent_since is null;
      else
        select count(*) into more from rows_after where revoke_after is null and silent_since is null;
        insert into node_liveness_twins (node_public_key)
          select distinct a.node_public_key from rows_after a where a.revoke_after is null and exists (
            select 1 from issued_certs k join node_liveness m on m.cert_id = k.cert_id
            where k.node_public_key = a.node_public_key and m.cert_id <> a.cert_id and m.revoke_after is null)
          order by 1 on conflict do nothing;
      end if;
      if more <> 0 then
        insert into node_liveness_counts (id, live) values (gen_random_uuid()::text, more);
      end if;
      return null;
    end $$`,
  `create trigger node_liveness_added after insert on node_liveness referencing new table as rows_after
    for each statement execute function node_liveness_counted()`,
  `create trigger node_liveness_changed after update of revoke_after, silent_since on node_liveness
    for each row when (${isLive('old')} <> ${isLive('new')}) execute function node_liveness_counted()`,
  `create trigger node_liveness_gone after delete on node_liveness referencing old table as rows_before
    for each statement execute function node_liveness_counted()`,
]
