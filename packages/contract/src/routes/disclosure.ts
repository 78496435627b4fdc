import { commitmentForm, field, form, membershipProofForm, nullifierForm, shape } from '@chancery/protocol'
import { type AnswerOf, type SentOf, openBody } from '../form.ts'
import { flag, listOf, recordOrText, signedRecord, storedRecord, text, textOrNull } from '../members.ts'
import { type Routes, routes } from '../route.ts'

const { anyOf, arrayOf, open, optional, required } = shape

const commitment = signedRecord('capability-commitment', commitmentForm)
const capabilities = listOf(shape.string, form.MAX_ITEMS)
/** Records of others are sent unchanged, because a member that this release does not know may be signed. */
const shownCommitment = required(recordOrText(storedRecord('capability-commitment')))
const shownProof = required(recordOrText(storedRecord('capability-membership-proof')))

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
    body: openBody(
      'missing_commit_fields',
      {
        agreement: required(recordOrText(storedRecord('agreement-record'))),
        /** Each is one of the agreement. */
        capabilities,
        salted: optional(shape.boolean),
      },
      { agreement: { paste: '<agreement record>' }, capabilities: ['payments.read'], salted: true },
    ),
    /** The commitment is for verifiers. The seed is needed for every proof: who has it can guess the hidden names. */
    answer: anyOf(open({ commitment: required(commitment), seed: required(field.digest) }), commitment),
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
    body: openBody('missing_proof', { proof: shownProof }, { proof: { paste: '<capability membership proof>' } }),
    answer: signedRecord('capability-nullifier', nullifierForm),
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
    body: openBody(
      'missing_prove_fields',
      {
        capability: text,
        capabilities,
        commitment: shownCommitment,
        prover_sovereign_id: text,
        /** Of a salted commitment. */
        seed: optional(field.digest),
      },
      {
        capability: 'payments.read',
        capabilities: ['payments.read'],
        commitment: { paste: '<capability commitment>' },
        prover_sovereign_id: '<sovereign id>',
      },
    ),
    answer: signedRecord('capability-membership-proof', membershipProofForm),
    idempotent: true,
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
    body: openBody(
      'missing_verify_fields',
      {
        proof: shownProof,
        commitment: shownCommitment,
        issuer_public_keys: optional(arrayOf(shape.string, { max: 64 })),
      },
      { proof: { paste: '<capability membership proof>' }, commitment: { paste: '<capability commitment>' } },
    ),
    /** `warning`: a text when the commitment is unsalted, because hidden names can be guessed. */
    answer: open({ valid: flag, reason: text, commitment_id: text, warning: textOrNull }),
    idempotent: true,
    records: { proof: 'invalid_input', commitment: 'invalid_input' },
    gateway: { operation: 'disclosure-verify', group: 'disclosure' },
  },
} as const

/** Proving one capability without showing the others (protocol/trust-operations 7). */
export const disclosure: Routes<typeof facts> = routes(facts)

/** What a commitment is made over. */
export type CommitRequest = Omit<SentOf<typeof disclosure.commit>, 'salted'>
export type SaltedCommitment = Extract<AnswerOf<typeof disclosure.commit>, { readonly seed: string }>
export type ProveRequest = SentOf<typeof disclosure.prove>
/** protocol/trust-operations 7.4: a negative result is a verdict, not an error. */
export type DisclosureVerdict = AnswerOf<typeof disclosure.verify>
