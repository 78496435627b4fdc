import { type Routes, routes } from '../route.ts'

const facts = {
  current: {
    id: 'GET /sovereign-revocation-feed',
    access: 'public',
    limit: 'public',
    stability: 'stable',
    success: 200,
    answer: 'json',
    summary: 'Own revocation feed',
    purpose: 'Gives the signed list of attestations this authority revoked.',
    gateway: {
      operation: 'attestations-sovereign-revocation-feed',
      group: 'attestations',
      query: ['issuer_sovereign_id'],
    },
  },
  // A full feed lists 50000 ids. A bad signature is a malformed feed here, not a failed login (protocol/core 23).
  import: {
    id: 'POST /admin/sovereign-revocation-feeds/import',
    access: 'operator:privileged',
    limit: 'admin',
    stability: 'stable',
    success: 200,
    answer: 'json',
    summary: 'Import a revocation feed',
    purpose: 'Takes over the revocations of another sovereign after checking its signature and sequence.',
    statuses: { invalid_signature: 400 },
    bodyLimit: 'feed',
    readLimit: 'large',
    gateway: { operation: 'treaties-import-sovereign-revocation-feed', group: 'treaties' },
  },
} as const

/** Revoked attestations, told to and heard from other sovereigns (protocol/core 18). */
export const revocationFeeds: Routes<typeof facts> = routes(facts)
