import { type Routes, routes } from '../route.ts'

const facts = {
  vote: {
    id: 'POST /admin/consensus/vote',
    access: 'operator:standard',
    limit: 'admin',
    stability: 'beta',
    success: 201,
    response: 'json',
    summary: 'Cast a vote',
    purpose: 'Signs the vote of this authority on a justification proof, also one of another authority.',
    records: { justification_proof: 'invalid_justification', decision: 'invalid_decision' },
    gateway: { operation: 'consensus-vote', group: 'consensus' },
  },
  proof: {
    id: 'POST /admin/consensus/proof',
    access: 'operator:standard',
    limit: 'admin',
    stability: 'beta',
    success: 201,
    response: 'json',
    summary: 'Assemble a consensus proof',
    purpose: 'Signs the collected votes when enough distinct validators approve.',
    records: { justification_proof: 'invalid_input' },
    gateway: { operation: 'consensus-proof', group: 'consensus' },
  },
  verify: {
    id: 'POST /consensus/verify',
    access: 'public',
    limit: 'verify',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'Verify a consensus proof',
    purpose: 'Verifies a consensus proof under the keys of its validators without storing anything.',
    records: { proof: 'invalid_proof' },
    gateway: { operation: 'consensus-verify', group: 'consensus' },
  },
} as const

/** K of N validators approve a justification (protocol/trust-operations 8). */
export const consensus: Routes<typeof facts> = routes(facts)
