import { type Routes, routes } from '../route.ts'

const facts = {
  // A network that keeps membership confidential shows anonymous callers the count only (protocol/core 14.3).
  list: {
    id: 'GET /attestations',
    access: 'public-or-operator:standard',
    limit: 'public',
    stability: 'stable',
    success: 200,
    response: 'json',
    summary: 'Issued attestations',
    purpose: 'Lists the membership attestations this authority issued.',
    gateway: {
      operation: 'attestations-list-attestations',
      group: 'attestations',
      query: ['issuer_sovereign_id', 'limit', 'offset', 'status', 'subject_id'],
    },
  },
  find: {
    id: 'GET /attestations/{attestation_id}',
    access: 'public-or-operator:standard',
    limit: 'public',
    stability: 'stable',
    success: 200,
    response: 'json',
    summary: 'One attestation',
    purpose: 'Gives one attestation with its stored status; to operators only where the membership is confidential.',
    gateway: { operation: 'attestations-get-attestation', group: 'attestations' },
  },
  issue: {
    id: 'POST /admin/attestations',
    access: 'operator:privileged',
    limit: 'admin',
    stability: 'stable',
    success: 201,
    response: 'json',
    summary: 'Issue an attestation',
    purpose: 'Signs that a subject is a member with the given roles.',
    gateway: { operation: 'attestations-issue-attestation', group: 'attestations' },
  },
  revoke: {
    id: 'POST /admin/attestations/{attestation_id}/revoke',
    access: 'operator:privileged',
    limit: 'admin',
    reserve: 'revocation',
    stability: 'stable',
    success: 200,
    response: 'json',
    summary: 'Revoke an attestation',
    purpose: 'Revokes an attestation and adds it to the sovereign revocation feed.',
    gateway: { operation: 'attestations-revoke-attestation', group: 'attestations' },
  },
  verify: {
    id: 'POST /attestations/verify',
    access: 'public',
    limit: 'verify',
    stability: 'stable',
    success: 200,
    response: 'json',
    summary: 'Verify an attestation',
    purpose: 'Verifies an attestation under a recognition policy without storing anything.',
    records: { attestation: 'invalid_attestation_or_policy' },
    gateway: { operation: 'attestations-verify-attestation', group: 'attestations' },
  },
  verifyWithTreaty: {
    id: 'POST /attestations/verify-with-treaty',
    access: 'public',
    limit: 'verify',
    stability: 'stable',
    success: 200,
    response: 'json',
    summary: 'Verify an attestation with a treaty',
    purpose:
      'Verifies an attestation of a partner network with one direct treaty: a treaty of this authority, or one under keys of the caller.',
    records: { attestation: 'invalid_attestation_or_treaty', treaty: 'invalid_attestation_or_treaty' },
    gateway: { operation: 'treaties-verify-attestation-with-treaty-route', group: 'treaties' },
  },
} as const

/** Portable membership evidence (protocol/core 14, 17). */
export const attestations: Routes<typeof facts> = routes(facts)
