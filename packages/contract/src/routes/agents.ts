import { type AgentDescriptor, field, readAgentDescriptor, shape } from '@chancery/protocol'
import { type AnswerOf, type QueryOf, openBody } from '../form.ts'
import { LIMITS } from '../limits.ts'
import { cursorQuery, listOf, pageQuery, paging, record, text, textOrNull, whole } from '../members.ts'
import { type Routes, routes } from '../route.ts'
import { NODE_STATES } from './roster.ts'

const { arrayOf, nullable, oneOf, open, optional, required } = shape

const descriptor = record('agent-descriptor', readAgentDescriptor)

const facts = {
  register: {
    id: 'POST /agents',
    access: 'node',
    limit: 'discover',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'Register an agent',
    purpose: 'Stores a descriptor signed by a node that owns a valid certificate.',
    errors: [
      'descriptor_expired',
      'descriptor_network_mismatch',
      'descriptor_signature_required',
      'invalid_agent_descriptor',
      'invalid_signature',
      'node_has_no_active_certificate',
      'node_key_revoked',
    ],
    body: openBody(
      'invalid_agent_descriptor',
      {
        agent_id: text,
        node_public_key: required(field.publicKey),
        network_name: text,
        capabilities: listOf(shape.string, 64),
        endpoint: required(shape.object),
        registered_at: required(field.timestamp),
        expires_at: required(field.timestamp),
        metadata: required(shape.object),
        signatures: required(field.signatures),
      },
      {
        agent_id: 'agent-1',
        node_public_key: '<public key>',
        network_name: '<network name>',
        capabilities: ['payments.read'],
        endpoint: { host: 'agent.example.org', port: 443, scheme: 'https' },
        registered_at: '2026-01-01T00:00:00Z',
        expires_at: '2027-01-01T00:00:00Z',
        metadata: {},
        signatures: [{ key_id: '<public key>', sig: '<signature>' }],
      },
    ),
    answer: open({ status: text, expires_at: text }),
    emptyBody: 'refused',
    bodyLimit: 'node',
    gateway: { operation: 'discovery-register-agent', group: 'discovery' },
  },
  search: {
    id: 'GET /agents',
    access: 'public',
    limit: 'public',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'Find agents by capability',
    purpose: 'Gives the descriptors that carry a capability tag, or only a count without one.',
    errors: ['invalid_page'],
    query: { ...pageQuery, capability: shape.string },
    answer: open({
      count: whole,
      /** Null: the route was asked for the number only. */
      capability: textOrNull,
      /** Newest first. Check each with protocol's verifyAgentDescriptor before calling it. */
      agents: optional(arrayOf(descriptor, { max: LIMITS.listPageRows })),
      ...paging,
    }),
    gateway: { operation: 'discovery-list-agents', group: 'discovery', query: ['capability', 'limit', 'offset'] },
  },
  find: {
    id: 'GET /agents/{node_public_key}',
    access: 'public',
    limit: 'public',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'One agent',
    purpose: 'Gives the descriptor registered by one node key.',
    errors: ['agent_not_registered'],
    answer: descriptor,
    tail: true,
    gateway: { operation: 'discovery-get-agent', group: 'discovery' },
  },
  remove: {
    id: 'DELETE /agents/{node_public_key}',
    access: 'node',
    limit: 'discover',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'Remove an agent',
    purpose: 'Deletes a registration; the node key that made it must sign the request.',
    errors: [
      'agent_not_registered',
      'delete_signature_required',
      'invalid_signature',
      'invalid_signed_at',
      'signed_at_outside_window',
    ],
    body: openBody(
      'delete_signature_required',
      { version: optional(shape.string), signed_at: required(field.timestamp), signature: text },
      { version: 'v1', signed_at: '2026-01-01T00:00:00Z', signature: '<signature>' },
    ),
    answer: open({ status: text }),
    emptyBody: 'refused',
    bodyLimit: 'node',
    tail: true,
    gateway: { operation: 'discovery-delete-agent', group: 'discovery' },
  },
  list: {
    id: 'GET /admin/agents',
    access: 'operator:standard',
    limit: 'operator_read',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'Agents',
    purpose:
      'Lists registered agents with the label and state of their nodes: all, newest first, or those that match the filters.',
    errors: ['invalid_input', 'invalid_page', 'invalid_public_key', 'invalid_timestamps', 'unexpected_field'],
    query: {
      ...cursorQuery,
      /** Begins the agent id, the host or a capability; upper and lower case differ. */
      q: shape.string,
      /** Compared exactly. */
      capability: shape.string,
      /** Of the endpoint, compared exactly. */
      host: shape.string,
      /** In base64. */
      node_public_key: shape.string,
      /** State of the node. */
      state: oneOf(...NODE_STATES),
      /** Only registrations that end before this time; the soonest first when no other filter is sent. */
      expires_before: shape.string,
    },
    /** Newest first without a filter. A page with filters may have fewer rows than the limit although there are more. */
    answer: open({
      count: whole,
      agents: listOf(
        open({
          /** Check it with protocol's verifyAgentDescriptor before calling the agent. */
          descriptor: required(descriptor),
          node_label: textOrNull,
          node_state: required(nullable(oneOf(...NODE_STATES))),
        }),
      ),
      ...paging,
    }),
  },
  capabilities: {
    id: 'GET /admin/agents/capabilities',
    access: 'operator:standard',
    limit: 'operator_read',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'Capabilities of agents',
    purpose:
      'Lists capabilities with their number of agents, the most common first, or by name those that begin with a text.',
    errors: ['invalid_input', 'invalid_page', 'unexpected_field'],
    query: { ...cursorQuery, q: shape.string },
    answer: open({ count: whole, capabilities: listOf(open({ capability: text, agents: whole })), ...paging }),
  },
} as const

/**
 * The registry of signed agent descriptors. A public key may hold slashes, so it takes the rest of the path
 * (protocol/core 3, 13).
 */
export const agents: Routes<typeof facts> = routes(facts)

/** The answer to a search by capability. */
export type AgentPage = AnswerOf<typeof agents.search> & { readonly agents: readonly AgentDescriptor[] }
export type ListedAgentPage = AnswerOf<typeof agents.list>
/** A registered agent and its node. */
export type ListedAgent = ListedAgentPage['agents'][number]
export type AgentFilter = Omit<QueryOf<typeof agents.list>, keyof typeof cursorQuery>
export type CapabilityPage = AnswerOf<typeof agents.capabilities>
export type CapabilityCount = CapabilityPage['capabilities'][number]
