import { type Routes, routes } from '../route.ts'

const facts = {
  list: {
    id: 'GET /admin/nodes',
    access: 'operator:standard',
    limit: 'operator_read',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'Nodes',
    purpose:
      'Lists node keys by their newest certificate, with state, last heartbeat and agent, and counts each state.',
    errors: ['invalid_input', 'invalid_page', 'invalid_timestamps', 'unexpected_field'],
    query: ['cursor', 'has_agent', 'joined_since', 'limit', 'q', 'role', 'sort', 'state'],
    answer: {
      count: 1,
      nodes: [
        {
          node_public_key: '<public key>',
          label: 'Berlin 3',
          state: 'active',
          roles: ['role:client'],
          cert_id: '<certificate id>',
          joined_at: '2026-01-01T00:00:00Z',
          issued_at: '2026-01-01T00:00:00Z',
          expires_at: '2026-01-01T00:00:00Z',
          last_heartbeat: '2026-01-01T00:00:00Z',
          agent_id: 'agent-1',
          capabilities: ['payments.read'],
        },
      ],
      counts: { active: { count: 1, more: false } },
    },
  },
  find: {
    id: 'GET /admin/nodes/{node_public_key}',
    access: 'operator:standard',
    limit: 'operator_read',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'One node',
    purpose: 'Gives a node key, as base64url without padding, with its certificates, agent and invite.',
    errors: ['invalid_public_key', 'node_not_found', 'unexpected_field'],
    query: [],
    answer: {
      node_public_key: '<public key>',
      state: 'active',
      certificates: [{ cert_id: '<certificate id>', certificate: { paste: '<join certificate>' } }],
      more_certificates: false,
      agent: null,
      invite: { token_fingerprint: '0123456789abcdef', created_by: '<operator key id>' },
    },
  },
  events: {
    id: 'GET /admin/nodes/{node_public_key}/events',
    access: 'operator:standard',
    limit: 'operator_read',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'Audit events of a node',
    purpose: 'Lists redacted audit events that name a node key, its certificates or its invite, newest first.',
    errors: ['invalid_page', 'invalid_public_key', 'node_not_found', 'unexpected_field'],
    query: ['cursor', 'limit'],
    answer: { count: 1, events: [{ event_type: 'certificate_issued', created_at: '2026-01-01T00:00:00Z' }] },
  },
} as const

/** Nodes as operators look at them: one row for each key, whatever the number of its certificates. */
export const roster: Routes<typeof facts> = routes(facts)
