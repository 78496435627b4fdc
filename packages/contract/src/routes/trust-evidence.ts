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
    records: { evidence: 'invalid_evidence' },
    gateway: { operation: 'evidence-verify', group: 'evidence' },
  },
} as const

/** Signed records of trust decisions (protocol/trust-operations 2). */
export const trustEvidence: Routes<typeof facts> = routes(facts)
