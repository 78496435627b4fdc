import type { AuditEvent } from '../audit-events.ts'

/** Events of the durable audit of a gateway (protocol/gateway 16.2). None holds a credential, a body or a node key. */
const EVENTS = {
  started: {
    when: 'A credentialed request was admitted, before its work began; or a request was refused with 401 or 429.',
    details: ['method', 'route'],
  },
  completed: {
    when: 'The response was decided, before it was sent.',
    details: ['status', 'elapsed_us', 'context'],
  },
  state_opened: {
    when: 'A process took ownership of the state. Without a collector it releases the events that waited for one.',
    details: ['version', 'released_events'],
  },
  policy_reloaded: { when: 'A new policy took effect.', details: ['policy_revision'] },
  crl_installed: { when: 'A revocation list came into force.', details: ['network', 'issuer', 'list_sequence'] },
  crl_rejected: { when: 'An offered list was refused.', details: ['network', 'issuer', 'outcome'] },
  crl_equivocation: {
    when: 'An authority signed two lists with one sequence; both are stored.',
    details: ['network', 'issuer', 'list_sequence', 'held_sha256', 'offered_sha256'],
  },
  refused_requests: {
    when: 'Requests of one minute refused with 401 or 429 that have no separate event.',
    details: ['route', 'status', 'reason', 'client_id', 'count', 'first_at', 'last_at'],
  },
  audit_pruned: {
    when: 'The oldest events were removed: by the retention time, by an operator, or without a collector to make room.',
    details: ['removed_through', 'removed_hash', 'removed_count'],
  },
  keys_followed: {
    when: 'The gateway followed a key succession: the root key of the policy signed these keys.',
    details: ['network', 'signing_key_id', 'key_ids'],
  },
  keys_refused: {
    when: 'An authority offered keys that the pinned root key does not lead to; none of them is used.',
    details: ['network', 'reason'],
  },
  issuer_rotated: {
    when: 'An operator moved an issuer to a new key.',
    details: ['network', 'issuer', 'list_sequence'],
  },
  suspect_cleared: { when: 'An operator cleared a suspect issuer.', details: ['network', 'issuer', 'reason'] },
  revocation_released: {
    when: 'An operator released a sticky revocation.',
    details: ['network', 'issuer', 'certificate_digest', 'reason'],
  },
} as const

export type GatewayAuditEventName = keyof typeof EVENTS

export const GATEWAY_AUDIT_EVENTS: Readonly<Record<GatewayAuditEventName, AuditEvent>> = EVENTS
