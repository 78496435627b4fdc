import { type Routes, routes } from '../route.ts'

const facts = {
  issue: {
    id: 'POST /admin/trust-evidence',
    access: 'operator:standard',
    limit: 'admin',
    stability: 'beta',
    success: 201,
    response: 'json',
    summary: 'Issue trust evidence',
    purpose: 'Signs a trust decision together with the digest of the graph it rests on.',
    errors: ['conflict', 'evidence_build_failed', 'invalid_decision', 'missing_decision'],
    repeatable: true,
    body: {
      example: {
        decision: {
          source_sovereign_id: '<sovereign id>',
          target_sovereign_id: '<sovereign id>',
          verdict: 'allow',
          requested_roles: ['role:client'],
        },
      },
      more: { graph_digest: '<digest>' },
    },
    answer: 'trust-evidence',
    gateway: { operation: 'evidence-build', group: 'evidence' },
  },
  verify: {
    id: 'POST /trust-evidence/verify',
    access: 'public',
    limit: 'verify',
    stability: 'beta',
    success: 200,
    response: 'json',
    summary: 'Verify trust evidence',
    purpose: 'Verifies trust evidence without storing anything.',
    errors: ['invalid_evidence', 'invalid_public_keys', 'missing_evidence'],
    body: {
      example: { evidence: { paste: '<trust evidence>' }, issuer_public_keys: ['<public key>'] },
      optional: ['issuer_public_keys'],
      more: { expected_graph_digest: '<digest>' },
      nullable: ['expected_graph_digest'],
    },
    answer: {
      accepted: true,
      reason: 'accepted',
      evidence_id: '<evidence id>',
      issuer_sovereign_id: '<sovereign id>',
      verdict: 'allow',
    },
    records: { evidence: 'invalid_evidence' },
    gateway: { operation: 'evidence-verify', group: 'evidence' },
  },
} as const

/** Signed records of trust decisions (protocol/trust-operations 2). */
export const trustEvidence: Routes<typeof facts> = routes(facts)
