/** Tables of the network and its members: keys, lists, certificates, agents, treaties and policies. */
export const NETWORK_TABLES = `
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
`
