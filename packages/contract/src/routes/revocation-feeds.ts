import { type Routes, routes } from '../route.ts'

const facts = {
  current: {
    id: 'GET /sovereign-revocation-feed',
    access: 'public',
    limit: 'public',
    stability: 'stable',
    success: 200,
    response: 'json',
    summary: 'Own revocation feed',
    purpose: 'Gives the signed list of attestations this authority revoked.',
    gateway: {
      operation: 'attestations-sovereign-revocation-feed',
      group: 'attestations',
      query: ['issuer_sovereign_id'],
    },
  },
  index: {
    id: 'GET /sovereign-revocation-feed/index',
    access: 'public',
    limit: 'public',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'Index of the own revocation feed',
    purpose: 'Gives the signed index that names every part of the feed by its digest.',
    gateway: { operation: 'attestations-feed-index', group: 'attestations', since: 'v0.60' },
  },
  part: {
    id: 'GET /sovereign-revocation-feed/parts/{part}',
    access: 'public',
    limit: 'public',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'Part of the own revocation feed',
    purpose: 'Gives the revoked attestations of one part, bound by the digest in the index.',
    gateway: {
      operation: 'attestations-feed-part',
      group: 'attestations',
      since: 'v0.60',
      maxResponseBytes: 4_194_304,
    },
  },
  // A full feed lists 50000 ids. A bad signature is a malformed feed here, not a failed login (protocol/core 23).
  import: {
    id: 'POST /admin/sovereign-revocation-feeds/import',
    access: 'operator:privileged',
    limit: 'admin',
    stability: 'stable',
    success: 200,
    response: 'json',
    summary: 'Import a revocation feed',
    purpose: 'Takes over the revocations of another sovereign after checking its signature and sequence.',
    statuses: { invalid_signature: 400 },
    bodyLimit: 'feed',
    readLimit: 'feed',
    records: { feed: 'invalid_sovereign_revocation_feed', index: 'invalid_sovereign_revocation_feed' },
    gateway: { operation: 'treaties-import-sovereign-revocation-feed', group: 'treaties' },
  },
} as const

/** Revoked attestations, published to and imported from partner networks (protocol/core 18). */
export const revocationFeeds: Routes<typeof facts> = routes(facts)
