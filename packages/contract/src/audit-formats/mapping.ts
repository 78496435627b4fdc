import type { AuditEventType } from '../audit-events.ts'
import type { GatewayAuditEventName } from '../gateway/audit-events.ts'

/** Activities of the OCSF class Entity Management. */
export const ENTITY_ACTIVITIES = {
  create: 1,
  read: 2,
  update: 3,
  delete: 4,
  enroll: 6,
  unenroll: 7,
  enable: 8,
  disable: 9,
  activate: 10,
  deactivate: 11,
  suspend: 12,
  resume: 13,
} as const

/** Severities of OCSF that are used. */
export const SEVERITIES = { informational: 1, low: 2, medium: 3, high: 4 } as const

interface EveryMapping {
  /** Default: informational, or low for a failure. */
  readonly severity?: keyof typeof SEVERITIES
  /** Members of details with the id of what the event is about; the first that exists counts. */
  readonly id: readonly string[]
}

/** Something was changed, or the change was refused. */
export interface EntityMapping extends EveryMapping {
  readonly class: 'entity'
  readonly activity: keyof typeof ENTITY_ACTIVITIES
  readonly entity: string
  readonly version?: string
  readonly failed?: true
  /** Member with the acting operator, if it is not `key_id`. */
  readonly operator?: string
}

/** A question was answered or refused. */
export interface CallMapping extends EveryMapping {
  readonly class: 'call'
  /** Member that names the operation. Without it, the type of the event is the name. */
  readonly operation: string
  /** `authorized` and `status` are members that decide. `open`: the work has not begun. */
  readonly outcome: 'authorized' | 'status' | 'denied' | 'open'
  /** Members with the id of the caller, before `key_id`. */
  readonly caller: readonly string[]
}

/** A caller did not prove who it is. */
export interface AuthenticationMapping extends EveryMapping {
  readonly class: 'authentication'
}

export type EventMapping = EntityMapping | CallMapping | AuthenticationMapping

const entity = (
  name: string,
  activity: EntityMapping['activity'],
  id: readonly string[],
  more: Partial<EntityMapping> = {},
): EntityMapping => ({ class: 'entity', entity: name, activity, id, ...more })

const FAILED = { failed: true } as const
const PARTNER = ['sovereign_id'] as const
const CERTIFICATE = ['cert_id'] as const
const APPROVAL = ['approval_id'] as const
const POLICY_VERSION = { version: 'version' } as const

/** What each event of the authority becomes in OCSF. The compiler requires an entry for every event. */
export const AUTHORITY_EVENT_MAPPINGS: Readonly<Record<AuditEventType, EventMapping>> = {
  admin_auth_failed: { class: 'authentication', id: ['key_id'], severity: 'medium' },
  admin_authz_denied: {
    class: 'call',
    operation: 'scope',
    outcome: 'denied',
    caller: [],
    id: ['key_id'],
    severity: 'medium',
  },
  admin_auth_throttled: { class: 'authentication', id: ['key_id'], severity: 'medium' },
  node_auth_failed: { class: 'authentication', id: [] },
  refusals_not_recorded: entity('audit log', 'update', ['day'], { severity: 'medium' }),
  authority_key_succeeded: entity('authority key', 'activate', ['new_key_id'], { severity: 'medium' }),
  authority_key_announced: entity('authority key', 'create', ['new_key_id'], { severity: 'medium' }),
  authority_key_retired: entity('authority key', 'deactivate', ['former_key_id'], { severity: 'medium' }),
  operator_key_revoked: entity('operator key', 'disable', ['key_id'], { severity: 'medium', operator: 'revoked_by' }),
  operator_keys_changed: entity('operators file', 'update', ['instance'], { severity: 'medium' }),
  invite_created: entity('invite', 'create', ['token_fingerprint']),
  invites_created: entity('invite', 'create', ['batch_id']),
  invites_withdrawn: entity('invite', 'disable', ['batch_id']),
  node_label_set: entity('node', 'update', ['node_public_key']),
  admission_rule_added: entity('admission rule', 'create', ['rule_id'], { severity: 'medium' }),
  admission_rule_removed: entity('admission rule', 'disable', ['rule_id']),
  certificate_issued: entity('certificate', 'enroll', CERTIFICATE),
  join_rejected: entity('certificate', 'enroll', ['node_public_key'], { ...FAILED, severity: 'medium' }),
  heartbeat_rejected: entity('certificate', 'read', CERTIFICATE, FAILED),
  renewal_rejected: entity('certificate', 'update', CERTIFICATE, FAILED),
  certificate_renewed: entity('certificate', 'update', ['new_cert_id']),
  wit_issued: entity('workload identity token', 'create', CERTIFICATE),
  wit_rejected: entity('workload identity token', 'create', CERTIFICATE, FAILED),
  certificate_revoked: entity('certificate', 'unenroll', CERTIFICATE),
  certificates_removed: entity('certificate', 'delete', ['job']),
  audit_events_removed: entity('audit log', 'delete', ['job']),
  certificate_adopted: entity('certificate', 'enroll', CERTIFICATE),
  certificate_presented: entity('certificate', 'read', CERTIFICATE),
  crl_published: entity('revocation list', 'update', [], { version: 'sequence' }),
  policy_published: entity('network policy', 'activate', ['policy_id']),
  policy_rolled_back: entity('network policy', 'activate', ['policy_id']),
  agent_registered: entity('agent', 'enroll', ['agent_id']),
  agent_deregistered: entity('agent', 'unenroll', ['agent_id']),
  membership_attestation_issued: entity('membership attestation', 'create', ['attestation_id']),
  membership_attestation_revoked: entity('membership attestation', 'disable', ['attestation_id']),
  recognition_policy_saved: entity('recognition policy', 'activate', ['policy_id']),
  recognition_treaty_issued: entity('recognition treaty', 'create', ['treaty_id']),
  recognition_treaty_revoked: entity('recognition treaty', 'disable', ['treaty_id']),
  state_recovered: entity('database', 'update', [], { severity: 'high' }),
  evidence_reimported: entity('evidence store', 'update', [], { severity: 'medium' }),
  revocation_feed_published: entity('revocation feed', 'update', [], { version: 'sequence' }),
  sovereign_revocation_feed_imported: entity('revocation feed', 'update', ['feed_id'], { version: 'sequence' }),
  sovereign_revocation_feed_rejected: entity('revocation feed', 'update', ['feed_id'], {
    ...FAILED,
    version: 'sequence',
    severity: 'medium',
  }),
  partner_added: entity('partner', 'create', PARTNER),
  partner_changed: entity('partner', 'update', PARTNER),
  partner_repinned: entity('partner', 'update', PARTNER, { severity: 'medium' }),
  partner_removed: entity('partner', 'delete', PARTNER),
  partner_key_changed: entity('partner', 'update', PARTNER, { severity: 'medium' }),
  partner_alarm_raised: entity('partner', 'suspend', PARTNER, { severity: 'high' }),
  partner_alarm_cleared: entity('partner', 'resume', PARTNER, { severity: 'medium' }),
  capability_offer_built: entity('capability offer', 'create', ['offer_id']),
  capability_counter_built: entity('capability offer', 'update', ['offer_id']),
  agreement_accepted: entity('agreement', 'create', ['agreement_id']),
  agreement_cosigned: entity('agreement', 'activate', ['agreement_id']),
  agreement_untrusted: {
    class: 'call',
    operation: 'route',
    outcome: 'denied',
    // The responder is not verified. The operator who sent the agreement is.
    caller: [],
    id: ['agreement_id'],
    severity: 'medium',
  },
  boundary_decision_made: {
    class: 'call',
    operation: 'requested_capability',
    outcome: 'authorized',
    caller: ['agreement_id'],
    id: ['decision_id'],
  },
  boundary_legacy_decide_refused: {
    class: 'call',
    operation: 'requested_capability',
    outcome: 'denied',
    caller: [],
    id: [],
  },
  boundary_policy_decision_made: {
    class: 'call',
    operation: 'requested_capability',
    outcome: 'authorized',
    caller: ['agreement_id'],
    id: ['decision_id'],
  },
  boundary_attestation_decision_made: {
    class: 'call',
    operation: 'requested_capability',
    outcome: 'authorized',
    caller: ['attestation_id'],
    id: ['decision_id'],
  },
  boundary_request_refused: {
    class: 'call',
    operation: 'requested_capability',
    outcome: 'denied',
    // Certificate and attestation are what the caller states: they are not verified yet.
    caller: [],
    id: ['attestation_id', 'cert_id'],
  },
  boundary_policy_validated: entity('boundary policy', 'read', ['policy_id'], POLICY_VERSION),
  boundary_policy_published: entity('boundary policy', 'create', ['policy_id'], POLICY_VERSION),
  approval_requested: entity('approval', 'create', APPROVAL),
  approval_stated: entity('approval', 'update', APPROVAL),
  approval_approved: entity('approval', 'activate', APPROVAL),
  approval_denied: entity('approval', 'deactivate', APPROVAL),
  approval_expired: entity('approval', 'deactivate', APPROVAL),
  approval_cancelled: entity('approval', 'deactivate', APPROVAL),
  approval_used: entity('approval', 'update', APPROVAL),
  approval_statement_refused: entity('approval', 'update', APPROVAL, FAILED),
  boundary_policy_activated: entity('boundary policy', 'activate', ['policy_id'], POLICY_VERSION),
  boundary_policy_deactivated: entity('boundary policy', 'deactivate', ['policy_id'], POLICY_VERSION),
  decision_stored: entity('boundary decision', 'create', ['decision_id']),
  evidence_recorded: entity('execution evidence', 'create', ['evidence_id']),
  evidence_duplicate: entity('execution evidence', 'read', ['evidence_id']),
  evidence_rejected: entity('execution evidence', 'create', ['evidence_id', 'rejection_id'], FAILED),
  executor_key_registered: entity('executor key', 'enroll', ['executor_key_id']),
  executor_key_retired: entity('executor key', 'unenroll', ['executor_key_id']),
  budget_warning: entity('budget', 'update', ['budget_key']),
  budget_exhausted: entity('budget', 'update', ['budget_key']),
  budget_overrun: entity('budget', 'update', ['budget_key'], { severity: 'high' }),
  budget_state_repaired: entity('budget', 'update', ['budget_key'], { severity: 'high' }),
  evidence_retention_applied: entity('evidence store', 'delete', ['checkpoint_id']),
  evidence_anchored: entity('evidence store', 'update', [], { version: 'store_sequence' }),
  evidence_bundle_signed: entity('decision bundle', 'create', ['decision_id']),
  evidence_anchor_refused: entity('evidence store', 'update', [], {
    ...FAILED,
    version: 'store_sequence',
    severity: 'high',
  }),
  evidence_anchor_failed: entity('evidence store', 'update', [], {
    ...FAILED,
    version: 'store_sequence',
    severity: 'medium',
  }),
  evidence_log_witness_alarm: entity('evidence log', 'suspend', ['witness'], {
    version: 'tree_size',
    severity: 'high',
  }),
  evidence_log_witness_alarm_ended: entity('evidence log', 'resume', ['witness'], {
    version: 'tree_size',
    severity: 'medium',
  }),
  trust_evidence_built: entity('trust evidence', 'create', ['evidence_id']),
  capability_commitment_created: entity('capability commitment', 'create', ['commitment_id']),
  capability_nullifier_issued: entity('capability nullifier', 'create', ['nullifier_id']),
  validator_vote_cast: entity('validator vote', 'create', ['vote_id']),
  consensus_proof_assembled: entity('consensus proof', 'create', ['consensus_id']),
  data_license_policy_created: entity('data license policy', 'activate', ['policy_id']),
  data_access_intent_created: entity('data access intent', 'create', ['intent_id']),
  data_usage_violation_recorded: entity('evidence store', 'create', ['intent_id'], { severity: 'low' }),
}

const LIST = ['issuer', 'network'] as const
const LIST_SEQUENCE = { version: 'list_sequence' } as const

/** The same for the events of the gateway. */
export const GATEWAY_EVENT_MAPPINGS: Readonly<Record<GatewayAuditEventName, EventMapping>> = {
  started: { class: 'call', operation: 'route', outcome: 'open', caller: [], id: ['request_id'] },
  completed: {
    class: 'call',
    operation: 'operation',
    outcome: 'status',
    caller: ['client_id', 'peer_certificate_sha256'],
    id: ['request_id'],
  },
  policy_reloaded: entity('gateway policy', 'activate', ['policy_revision']),
  crl_installed: entity('revocation list', 'update', LIST, LIST_SEQUENCE),
  crl_rejected: entity('revocation list', 'update', LIST, { ...FAILED, severity: 'medium' }),
  crl_equivocation: entity('revocation list', 'suspend', LIST, { ...LIST_SEQUENCE, severity: 'high' }),
  refused_requests: {
    class: 'call',
    operation: 'route',
    outcome: 'denied',
    caller: ['client_id'],
    id: ['client_id'],
  },
  state_opened: entity('gateway state', 'enable', []),
  audit_pruned: entity('audit log', 'delete', []),
  suspect_cleared: entity('revocation list', 'resume', LIST, { severity: 'medium' }),
  revocation_released: entity('revocation', 'delete', LIST, { severity: 'high' }),
  keys_followed: entity('issuer key', 'update', ['network'], { severity: 'medium' }),
  keys_refused: entity('issuer key', 'update', ['network'], { ...FAILED, severity: 'high' }),
  issuer_rotated: entity('issuer key', 'update', LIST, { ...LIST_SEQUENCE, severity: 'medium' }),
}
