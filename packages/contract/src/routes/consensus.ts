import { consensusForm, form, shape, voteForm } from '@chancery/protocol'
import { type AnswerOf, type SentOf, openBody } from '../form.ts'
import { flag, listOf, recordOrText, signedRecord, storedRecord, text, whole } from '../members.ts'
import { type Routes, routes } from '../route.ts'

const { arrayOf, mapOf, nullable, open, optional, required } = shape

/** Records of others are sent unchanged, because a member that this release does not know may be signed. */
const justification = required(recordOrText(storedRecord('justification-proof')))
/** By the sovereign id of each validator. */
const keysById = mapOf(shape.string)

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
    errors: [
      'caller_keys_not_accepted',
      'conflict',
      'insufficient_operator_tier',
      'invalid_decision',
      'invalid_justification',
      'invalid_public_keys',
      'invalid_vote_type',
      'justification_untrusted',
      'missing_vote_fields',
      'vote_failed',
    ],
    repeatable: true,
    body: openBody(
      'missing_vote_fields',
      {
        justification_proof: justification,
        vote: flag,
        reason: optional(nullable(shape.string)),
        /** Keys of the issuer. They need a privileged operator. Without them the authority uses the keys it knows. */
        justification_public_keys: optional(nullable(arrayOf(shape.string, { min: 1, max: 16 }))),
        /** The decision that the proof explains. It is verified with the same keys. */
        decision: optional(recordOrText(storedRecord('boundary-decision'))),
      },
      { justification_proof: { paste: '<justification proof>' }, vote: true, reason: 'reviewed' },
    ),
    answer: signedRecord('validator-vote', voteForm),
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
    errors: [
      'conflict',
      'invalid_input',
      'invalid_public_keys',
      'invalid_threshold',
      'justification_untrusted',
      'missing_proof_fields',
      'missing_validator_public_keys',
      'proof_assembly_failed',
    ],
    repeatable: true,
    body: openBody(
      'missing_proof_fields',
      {
        justification_proof: justification,
        votes: listOf(storedRecord('validator-vote'), form.MAX_ITEMS),
        /** How many distinct validators must approve. */
        required_threshold: whole,
        validator_sovereign_ids: listOf(shape.string, form.MAX_ITEMS),
        /** Without them the authority uses the keys that it knows. */
        validator_public_keys: optional(nullable(keysById)),
      },
      {
        justification_proof: { paste: '<justification proof>' },
        votes: [{ paste: '<validator vote>' }],
        required_threshold: 1,
        validator_sovereign_ids: ['<sovereign id>'],
      },
    ),
    answer: signedRecord('consensus-proof', consensusForm),
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
    errors: ['invalid_proof', 'invalid_public_keys', 'missing_proof', 'missing_validator_public_keys'],
    body: openBody(
      'missing_proof',
      {
        proof: required(recordOrText(storedRecord('consensus-proof'))),
        /** There is no default. */
        validator_public_keys: required(keysById),
        assembler_public_keys: optional(arrayOf(shape.string, { max: 64 })),
      },
      { proof: { paste: '<consensus proof>' }, validator_public_keys: { '<sovereign id>': '<public key>' } },
    ),
    answer: open({ valid: flag, reason: text, consensus_id: text }),
    idempotent: true,
    records: { proof: 'invalid_proof' },
    gateway: { operation: 'consensus-verify', group: 'consensus' },
  },
} as const

/** K of N validators approve a justification (protocol/trust-operations 8). */
export const consensus: Routes<typeof facts> = routes(facts)

export type AssemblyRequest = SentOf<typeof consensus.proof>
/** protocol/trust-operations 8.6: a negative result is a verdict, not an error. */
export type ConsensusVerdict = AnswerOf<typeof consensus.verify>
