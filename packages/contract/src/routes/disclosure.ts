import { type Routes, routes } from '../route.ts'

const facts = {
  commit: {
    id: 'POST /admin/disclosure/commit',
    access: 'operator:standard',
    limit: 'admin',
    stability: 'beta',
    success: 201,
    response: 'json',
    summary: 'Commit to capabilities',
    purpose: 'Signs a Merkle root over the capabilities of an agreement.',
    records: { agreement: 'invalid_agreement' },
    gateway: { operation: 'disclosure-commit', group: 'disclosure' },
  },
  nullifier: {
    id: 'POST /admin/disclosure/nullifier',
    access: 'operator:standard',
    limit: 'admin',
    stability: 'beta',
    success: 201,
    response: 'json',
    summary: 'Issue a nullifier',
    purpose: 'Signs a short-lived mark that lets a verifier accept a proof only once.',
    records: { proof: 'invalid_proof' },
    gateway: { operation: 'disclosure-nullifier', group: 'disclosure' },
  },
  // As costly as a verification and open to anyone, hence the same limit.
  prove: {
    id: 'POST /disclosure/prove',
    access: 'public',
    limit: 'verify',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'Prove a capability',
    purpose: 'Builds a membership proof from what the caller sends; no state of the authority is used.',
    records: { commitment: 'invalid_commitment' },
    gateway: { operation: 'disclosure-prove', group: 'disclosure' },
  },
  verify: {
    id: 'POST /disclosure/verify',
    access: 'public',
    limit: 'verify',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'Verify a capability proof',
    purpose: 'Verifies a membership proof against its commitment without storing anything.',
    records: { proof: 'invalid_input', commitment: 'invalid_input' },
    gateway: { operation: 'disclosure-verify', group: 'disclosure' },
  },
} as const

/** Proving one capability without showing the others (protocol/trust-operations 7). */
export const disclosure: Routes<typeof facts> = routes(facts)
