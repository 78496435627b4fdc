import type { AuditEventType } from '@chancery/contract'

export interface AuditKind {
  readonly value: string
  readonly text: string
  /** At most 10, which is what the authority takes in one request. */
  readonly events: readonly AuditEventType[]
}

/** Groups of events, each complete in itself. «Yours» is a filter by the key of this session. */
export const AUDIT_KINDS: readonly AuditKind[] = [
  {
    value: 'nodes',
    text: 'Nodes',
    events: [
      'invite_created',
      'invites_created',
      'invites_withdrawn',
      'certificate_issued',
      'certificate_renewed',
      'wit_issued',
      'certificate_revoked',
      'node_label_set',
      'agent_registered',
      'agent_deregistered',
    ],
  },
  {
    value: 'partners',
    text: 'Partners',
    events: [
      'recognition_treaty_issued',
      'recognition_treaty_revoked',
      'membership_attestation_issued',
      'membership_attestation_revoked',
      'sovereign_revocation_feed_imported',
      'partner_added',
      'partner_removed',
      'partner_repinned',
      'partner_alarm_raised',
      'partner_alarm_cleared',
    ],
  },
  {
    value: 'policies',
    text: 'Policies',
    events: [
      'boundary_policy_published',
      'boundary_policy_activated',
      'boundary_policy_deactivated',
      'policy_published',
      'policy_rolled_back',
      'recognition_policy_saved',
      'data_license_policy_created',
    ],
  },
  {
    value: 'decisions',
    text: 'Decisions',
    events: ['boundary_decision_made', 'boundary_policy_decision_made', 'boundary_attestation_decision_made'],
  },
  {
    value: 'refusals',
    text: 'Refusals',
    events: [
      'admin_auth_failed',
      'admin_authz_denied',
      'admin_auth_throttled',
      'node_auth_failed',
      'join_rejected',
      'heartbeat_rejected',
      'renewal_rejected',
      'boundary_request_refused',
      'evidence_rejected',
      'sovereign_revocation_feed_rejected',
    ],
  },
]

/** Returns the query of a list of events from the query of its address. */
export function auditQuery(query: URLSearchParams, ownKeyId: string): Readonly<Record<string, string | undefined>> {
  const kind = query.get('kind')
  const events = AUDIT_KINDS.find(({ value }) => value === kind)?.events
  const text = (name: string): string | undefined => query.get(name) ?? undefined
  return {
    event: text('event') ?? events?.join(','),
    key_id: kind === 'yours' ? ownKeyId : text('key_id'),
    subject: text('q'),
    request_id: text('request_id'),
    since: text('since'),
    until: text('until'),
  }
}
