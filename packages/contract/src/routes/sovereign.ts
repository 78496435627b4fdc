import { type Routes, routes } from '../route.ts'

const facts = {
  genesis: {
    id: 'GET /genesis',
    access: 'public',
    limit: 'public',
    stability: 'stable',
    success: 200,
    response: 'json',
    summary: 'Genesis block',
    purpose: 'Gives the genesis block signed by the root key.',
    answer: 'genesis-block',
    gateway: { operation: 'public-get-genesis', group: 'network' },
  },
  metadata: {
    id: 'GET /sovereign.json',
    access: 'public',
    limit: 'public',
    stability: 'stable',
    success: 200,
    response: 'json',
    summary: 'Sovereign metadata',
    purpose: 'Gives the identity, keys and public addresses of this sovereign.',
    gateway: { operation: 'public-sovereign-metadata', group: 'network' },
  },
  keyHistory: {
    id: 'GET /key-history',
    access: 'public',
    limit: 'public',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'Former keys',
    purpose: 'Gives the keys this authority had before, signed by the root key; 404 when it had none.',
    errors: ['key_history_not_found'],
    answer: 'key-history',
  },
  keySuccession: {
    id: 'GET /key-succession',
    access: 'public',
    limit: 'public',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'Newest block of the root',
    purpose:
      'Gives the newest genesis block and key history, announced or in force, for followers to verify by the root key; 404 when there never was a succession.',
    errors: ['key_history_not_found'],
  },
} as const

/** Who this network is: the block signed by the root key and a summary for peers (protocol/core 4, 19). */
export const sovereign: Routes<typeof facts> = routes(facts)
