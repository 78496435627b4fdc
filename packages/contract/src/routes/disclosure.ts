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
    purpose:
      'Signs a Merkle root over the capabilities of an agreement; with salted, the answer also has the secret seed of the salts, which is not stored, and without it hidden names can be guessed.',
    errors: ['agreement_untrusted', 'commit_failed', 'conflict', 'invalid_agreement', 'missing_commit_fields'],
    repeatable: true,
    body: {
      example: { agreement: { paste: '<agreement record>' }, capabilities: ['payments.read'], salted: true },
    },
    answer: { commitment: { paste: '<capability commitment>' }, seed: '<seed>' },
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
    errors: ['conflict', 'invalid_proof', 'missing_proof', 'nullifier_failed'],
    repeatable: true,
    body: { example: { proof: { paste: '<capability membership proof>' } } },
    answer: 'capability-nullifier',
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
    purpose:
      'Builds a membership proof from what the caller sends, with the seed for a salted commitment; no state of the authority is used.',
    errors: ['invalid_commitment', 'missing_prove_fields', 'prove_failed'],
    body: {
      example: {
        capability: 'payments.read',
        capabilities: ['payments.read'],
        commitment: { paste: '<capability commitment>' },
        prover_sovereign_id: '<sovereign id>',
      },
      more: { seed: '<seed>' },
    },
    answer: 'capability-membership-proof',
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
    purpose:
      'Verifies a membership proof against its commitment without storing anything, and warns when the commitment is unsalted.',
    errors: ['invalid_input', 'invalid_public_keys', 'missing_verify_fields'],
    body: {
      example: {
        proof: { paste: '<capability membership proof>' },
        commitment: { paste: '<capability commitment>' },
      },
      more: { issuer_public_keys: ['<public key>'] },
    },
    answer: { valid: true, reason: 'valid', commitment_id: '<commitment id>' },
    records: { proof: 'invalid_input', commitment: 'invalid_input' },
    gateway: { operation: 'disclosure-verify', group: 'disclosure' },
  },
} as const

/** Proving one capability without showing the others (protocol/trust-operations 7). */
export const disclosure: Routes<typeof facts> = routes(facts)
