import { TRUST_AUDIT_EVENTS } from './trust-audit-events.ts'

export interface AuditEvent {
  /** One line: what has happened when the event is written. */
  readonly when: string
  /** Members of details besides the common ones. Absent values are left out. */
  readonly details: readonly string[]
}

/**
 * On every event where they exist: source address, acting operator key, the id of the log lines of the request, and the
 * trace that the caller named in `traceparent`, which proves nothing.
 */
export const COMMON_AUDIT_DETAILS = ['remote_addr', 'key_id', 'request_id', 'trace_id'] as const

/**
 * Every audit event (protocol/core 26, protocol/trust-operations 11). No event holds a token, a signature, a body, a
 * private key, claims, request_parameters, attributes, execution_parameters or any other fact value.
 */
export const AUDIT_EVENTS = {
  admin_auth_failed: {
    when: 'The operator headers of a request did not verify.',
    details: ['key_id', 'reason', 'scope', 'nonce'],
  },
  admin_authz_denied: {
    when: 'A verified operator key lacked the tier.',
    details: ['key_id', 'scope', 'holder_tier', 'required_tier', 'reason'],
  },
  admin_auth_throttled: {
    when: 'Too many failed operator authentications; once per scope and window.',
    details: ['reason', 'key_id'],
  },
  node_auth_failed: {
    when: 'The proof of possession of a node did not verify.',
    details: ['scope', 'reason', 'nonce'],
  },
  refusals_not_recorded: {
    when: 'A day ended, or an instance stopped, with refused callers that got no separate event: how many of each type.',
    details: ['day', 'counts'],
  },
  authority_key_succeeded: {
    when: 'Another key of the authority took over.',
    details: ['former_key_id', 'new_key_id', 'lists_until'],
  },
  authority_key_announced: {
    when: 'The next key of the authority was announced.',
    details: ['new_key_id', 'genesis_digest'],
  },
  authority_key_retired: {
    when: 'A former key of the authority signs no list any more.',
    details: ['former_key_id', 'certificates_in_use'],
  },
  operator_key_revoked: {
    when: 'An operator key was revoked.',
    details: ['key_id', 'reason', 'revoked_by', 'forced'],
  },
  operator_keys_changed: {
    when: 'The operators file named other operators than before; cause is start or reload. Each entry is key id, tier and key fingerprint.',
    details: ['cause', 'added', 'removed', 'operators', 'instance'],
  },
  invite_created: {
    when: 'An invite was created.',
    details: ['token_fingerprint', 'roles', 'recipient_public_key'],
  },
  invites_created: {
    when: 'Many invites were created in one call.',
    details: ['count', 'batch_id', 'roles', 'expires_at', 'invite_fingerprints'],
  },
  invites_withdrawn: {
    when: 'Unused invites were withdrawn, by name, of one key or of one batch.',
    details: ['count', 'reason', 'created_by', 'batch_id', 'invite_fingerprints'],
  },
  node_label_set: {
    when: 'A node key got a label, or its label was removed.',
    details: ['node_public_key', 'label'],
  },
  certificate_issued: {
    when: 'A node joined.',
    details: [
      'cert_id',
      'node_public_key',
      'invite_token_fingerprint',
      'roles',
      'rule_id',
      'evidence_issuer',
      'evidence_subject',
      'evidence_digest',
    ],
  },
  admission_rule_added: {
    when: 'An admission rule was added.',
    details: ['rule_id', 'kind', 'evidence_issuer', 'roles', 'rule_digest'],
  },
  admission_rule_removed: {
    when: 'An admission rule was removed, by an operator or by a recovery.',
    details: ['rule_id', 'reason', 'valid_certificates'],
  },
  join_rejected: {
    when: 'A node key that was revoked tried to join, or evidence did not admit a node.',
    details: ['reason', 'node_public_key', 'prior_cert_id', 'rule_id', 'evidence_digest'],
  },
  heartbeat_rejected: {
    when: 'The state of the certificate refused a heartbeat.',
    details: ['cert_id', 'reason'],
  },
  renewal_rejected: {
    when: 'The state of the certificate, other roles or the evidence refused a renewal.',
    details: ['cert_id', 'reason', 'evidence_reason', 'rule_id', 'evidence_digest'],
  },
  certificate_renewed: {
    when: 'A certificate was renewed.',
    details: [
      'old_cert_id',
      'new_cert_id',
      'node_public_key',
      'rule_id',
      'evidence_issuer',
      'evidence_subject',
      'evidence_digest',
    ],
  },
  wit_issued: {
    when: 'A workload identity token was issued for a certificate.',
    details: ['cert_id', 'node_public_key', 'expires_at'],
  },
  wit_rejected: {
    when: 'The state of the certificate refused a workload identity token.',
    details: ['cert_id', 'reason'],
  },
  certificate_revoked: {
    when: 'A certificate was revoked.',
    details: ['cert_id', 'reason', 'crl_sequence', 'revoked_with', 'only_this', 'known_by'],
  },
  certificates_removed: {
    when: 'Certificates that ended long ago were removed from the database.',
    details: ['count', 'revoked_count', 'ended_before', 'job'],
  },
  audit_events_removed: {
    when: 'Old audit events that are stored elsewhere were removed from the database.',
    details: ['count', 'first_sequence', 'last_sequence', 'created_before', 'job'],
  },
  certificate_adopted: {
    when: 'A certificate that a restored database lacked was added again, from its signed text.',
    details: ['cert_id', 'node_public_key', 'roles', 'rule_id'],
  },
  certificate_presented: {
    when: 'A node presented a valid certificate that the database lacks, for its adoption.',
    details: ['cert_id', 'node_public_key', 'roles'],
  },
  crl_published: {
    when: 'A version of the revocation list was published; cause is revoke, superseded or refresh.',
    details: ['sequence', 'entries', 'cause'],
  },
  policy_published: {
    when: 'A policy manifest was signed and made active.',
    details: ['policy_id', 'previous_policy_id'],
  },
  policy_rolled_back: {
    when: 'A stored policy manifest was made active again.',
    details: ['policy_id', 'previous_policy_id'],
  },
  agent_registered: {
    when: 'An agent was registered for the first time; refreshes are not audited.',
    details: ['agent_id', 'node_public_key'],
  },
  agent_deregistered: {
    when: 'An agent was removed by its node.',
    details: ['agent_id', 'node_public_key'],
  },
  membership_attestation_issued: {
    when: 'A membership attestation was issued.',
    details: ['attestation_id', 'issuer_sovereign_id', 'subject_id', 'roles'],
  },
  membership_attestation_revoked: {
    when: 'A membership attestation was revoked.',
    details: ['attestation_id', 'reason'],
  },
  recognition_policy_saved: {
    when: 'A recognition policy was stored and made active.',
    details: ['policy_id', 'local_sovereign_id', 'recognized_issuer_count'],
  },
  recognition_treaty_issued: {
    when: 'A recognition treaty was issued.',
    details: ['treaty_id', 'issuer_sovereign_id', 'subject_sovereign_id', 'allowed_roles'],
  },
  recognition_treaty_revoked: {
    when: 'A recognition treaty was revoked.',
    details: ['treaty_id', 'reason'],
  },
  // The operator is responsible for the keys in the request, so the event names these keys and each override.
  state_recovered: {
    when: 'A rolled back database was recovered, or list and feed were signed again after their dates were in the future.',
    details: ['crl_sequence', 'feed_sequence', 'revocations', 'agents', 'replay_floor'],
  },
  evidence_reimported: {
    when: 'Evidence that a restored database had lost was put back from an export.',
    details: ['entries', 'anchors', 'last_sequence'],
  },
  revocation_feed_published: {
    when: 'A version of the own revocation feed was signed.',
    details: ['sequence', 'ids', 'total_ids', 'cause'],
  },
  sovereign_revocation_feed_imported: {
    when: 'The revocation feed of another sovereign was imported.',
    details: [
      'feed_id',
      'issuer_sovereign_id',
      'sequence',
      'trust_basis',
      'revoked_count',
      'complete',
      'part',
      'differs_from_pinned',
      'partner',
      'accept_sequence_jump',
    ],
  },
  sovereign_revocation_feed_rejected: {
    when: 'The revocation feed of another sovereign was refused.',
    details: ['feed_id', 'issuer_sovereign_id', 'sequence', 'trust_basis', 'reason'],
  },
  partner_added: {
    when: 'A partner was registered.',
    details: ['sovereign_id', 'pin_kind', 'import_feeds', 'interval_seconds', 'allow_http'],
  },
  partner_changed: { when: 'Members of a partner were changed.', details: ['sovereign_id', 'fields'] },
  partner_repinned: { when: 'Other keys of a partner were pinned.', details: ['sovereign_id', 'pin_kind', 'reason'] },
  partner_removed: { when: 'A partner was removed.', details: ['sovereign_id', 'reason', 'treaties_in_force'] },
  partner_key_changed: {
    when: 'A partner shows another authority key, signed by its pinned root.',
    details: ['sovereign_id', 'genesis_digest'],
  },
  partner_alarm_raised: {
    when: 'A partner contradicted what it had shown before.',
    details: ['sovereign_id', 'alarm_id', 'kind', 'material', 'sequence'],
  },
  partner_alarm_cleared: {
    when: 'An operator cleared an alarm of a partner.',
    details: ['sovereign_id', 'alarm_id', 'kind', 'material', 'reason'],
  },
  ...TRUST_AUDIT_EVENTS,
} as const

export type AuditEventType = keyof typeof AUDIT_EVENTS

/** The event of this type. */
export function auditEventOf(type: AuditEventType): AuditEvent {
  return AUDIT_EVENTS[type]
}

/** Events of callers that did not prove who they are: a name in the details is what the caller claimed. */
export const UNVERIFIED_EVENTS: ReadonlySet<string> = new Set<AuditEventType>([
  'admin_auth_failed',
  'admin_auth_throttled',
  'node_auth_failed',
  'evidence_rejected',
])
