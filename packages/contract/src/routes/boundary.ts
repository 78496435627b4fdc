import { type Routes, routes } from '../route.ts'

const facts = {
  evaluate: {
    id: 'POST /admin/boundary/evaluate',
    access: 'operator:standard',
    limit: 'admin',
    stability: 'stable',
    success: 201,
    response: 'json',
    summary: 'Evaluate a request',
    purpose: 'Decides under the active policies and signs the decision with its justification.',
    records: { agreement: 'invalid_agreement', 'presented.attestation': 'invalid_attestation' },
    gateway: { operation: 'boundary_policy-evaluate', group: 'boundary_policy', since: 'v0.58' },
  },
  request: {
    id: 'POST /boundary/request',
    access: 'node',
    limit: 'decision-address',
    stability: 'beta',
    success: 201,
    response: 'json',
    summary: 'Request a decision',
    purpose: 'Decides for a node, a member of a partner or a relay, which sign the request with their own key.',
    bodyLimit: 'decision',
    gateway: { operation: 'boundary-request', group: 'boundary', since: 'v0.60' },
  },
  decide: {
    id: 'POST /admin/boundary/decide',
    access: 'operator:standard',
    limit: 'admin',
    stability: 'beta',
    success: 201,
    response: 'json',
    summary: 'Decide without policies',
    purpose: 'Decides on the agreement alone and signs the decision.',
    records: { agreement: 'invalid_agreement' },
    gateway: { operation: 'boundary-decide', group: 'boundary' },
  },
  verify: {
    id: 'POST /boundary/verify',
    access: 'public',
    limit: 'verify',
    stability: 'stable',
    success: 200,
    response: 'json',
    summary: 'Verify a decision',
    purpose: 'Verifies a boundary decision without storing anything.',
    records: { decision: 'invalid_decision' },
    gateway: { operation: 'boundary-verify', group: 'boundary' },
  },
} as const

/** Signed allow or deny decisions. A denial is an answer (201), not an error (protocol/trust-operations 4). */
export const boundary: Routes<typeof facts> = routes(facts)
