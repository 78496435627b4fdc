import { type Routes, routes } from '../route.ts'

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
    emptyBody: 'refused',
    bodyLimit: 'node',
    tail: true,
    gateway: { operation: 'discovery-delete-agent', group: 'discovery' },
  },
} as const

/**
 * The registry of signed agent descriptors. A public key may hold slashes, so it takes the rest of the path
 * (protocol/core 3, 13).
 */
export const agents: Routes<typeof facts> = routes(facts)
