import { type Hint, named, withReason } from './details.ts'

/** Hints for refused votes, by the reason in the details. */
const ASSEMBLY: Readonly<Record<string, string>> = {
  threshold_not_met: 'Too few of the given validators approve. Collect more votes, or lower --threshold.',
  proof_id_mismatch: 'A vote is on another justification. Give only votes on this one.',
  cascade_detected: 'The votes are probably copies of each other. Each validator must vote from its own state.',
  invalid_vote_signature: 'A vote is unsigned, or not signed by the key of its validator. Ask for the vote again.',
  vote_not_in_validator_set: 'A vote is of another network. Name it with --validator, or leave its vote out.',
  unknown_validator_key: 'Give the key of every validator with --validator-key, or none at all.',
  duplicate_validator_key: 'Two validators have one key, so they count as one. Check --validator-key.',
  contradictory_votes: 'A validator votes for and against. Ask it which vote is valid.',
}

/** Hints for a justification that is not trusted, by the reason in the details. */
const JUSTIFICATION: Readonly<Record<string, string>> = {
  unknown_issuer: 'No treaty or partner names a key of its issuer. Give one with --issuer-key.',
  missing_signature: 'The justification is not signed. Give the file unchanged.',
  invalid_signature: 'Another key signed the justification. Check --issuer-key and the treaty of its issuer.',
  decision_mismatch: 'The decision belongs to another justification. Give the decision of this one.',
}

/** Codes of selective disclosure, consensus and data usage. */
export const PROOF_HINTS: Readonly<Record<string, Hint>> = {
  commit_failed: () => 'Give only capabilities of the agreement, each once.',
  prove_failed: () => 'Give the complete list of the commitment, and one capability of it.',
  invalid_commitment: ({ details }) => `Fix the field ${named(details, 'field')} of the commitment.`,
  invalid_justification: () => 'Give the justification proof unchanged.',
  justification_untrusted: ({ details }) => withReason(details, JUSTIFICATION, 'Give the file unchanged.'),
  proof_assembly_failed: ({ details }) => withReason(details, ASSEMBLY, 'Check the votes: chancery verify <vote>'),
  invalid_threshold: () => '--threshold must be from 1 to the number of distinct validators.',
  no_policy: () => 'Publish one first: chancery data-usage policy <file>',
  missing_policy_fields: ({ details }) => `Fix the field ${named(details, 'field')} of the terms.`,
  invalid_timestamp_order: () => 'valid_until must be later than valid_from.',
  missing_intent_fields: ({ details }) => `Give ${named(details, 'field')} as a list with at least one entry.`,
  invalid_source: ({ details }) => `Fix ${named(details, 'field')}: source_id, source_type and owner_sovereign_id.`,
  intent_create_failed: ({ details }) => `Fix the field ${named(details, 'field')} of the file.`,
}
