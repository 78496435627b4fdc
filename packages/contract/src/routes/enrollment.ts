import { type Routes, routes } from '../route.ts'

const facts = {
  invite: {
    id: 'POST /admin/invite',
    access: 'operator:standard',
    limit: 'admin',
    stability: 'stable',
    success: 201,
    answer: 'json',
    summary: 'Create an invite',
    purpose: 'Makes a single-use token that lets one node join with the given roles.',
    gateway: { operation: 'admin-create-invite', group: 'administration' },
  },
  join: {
    id: 'POST /join',
    access: 'node',
    limit: 'join',
    stability: 'stable',
    success: 201,
    answer: 'json',
    summary: 'Join the network',
    purpose: 'Trades an invite and a proof of possession for a signed join certificate.',
    bodyLimit: 'node',
    gateway: { operation: 'enrollment-request-join', group: 'enrollment' },
  },
  heartbeat: {
    id: 'POST /heartbeat',
    access: 'node',
    limit: 'node',
    stability: 'stable',
    success: 200,
    answer: 'json',
    summary: 'Report liveness',
    purpose: 'Records that the holder of a valid certificate is alive.',
    bodyLimit: 'node',
    gateway: { operation: 'enrollment-heartbeat', group: 'enrollment' },
  },
  renew: {
    id: 'POST /renew',
    access: 'node',
    limit: 'node',
    stability: 'stable',
    success: 201,
    answer: 'json',
    summary: 'Renew a certificate',
    purpose: 'Issues a new certificate with the same key and roles and lets the old one run out.',
    bodyLimit: 'node',
    gateway: { operation: 'enrollment-renew-certificate', group: 'enrollment' },
  },
  // With operator headers the call spends from the admin limit, and headers that fail never get the public answer.
  nodes: {
    id: 'GET /nodes',
    access: 'public-or-operator:standard',
    limit: 'public',
    stability: 'stable',
    success: 200,
    answer: 'json',
    summary: 'Active nodes',
    purpose: 'Counts active nodes and names them to a verified operator.',
    gateway: { operation: 'health-list-nodes', group: 'network', signed: true },
  },
} as const

/** How a node gets in, stays in and is counted (protocol/core 5 to 8, 19). */
export const enrollment: Routes<typeof facts> = routes(facts)
