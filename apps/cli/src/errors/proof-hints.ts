import { named } from './details.ts'
import type { Hint } from './details.ts'

/** Hints for refused votes, by the reason in the details. */
const ASSEMBLY: Readonly<Record<string, string>> = {
  threshold_not_met: 'Too few of the given validators approve. Collect more votes, or lower --threshold.',
  proof_id_mismatch: 'A vote is on another justification. Give only votes on this one.',
  cascade_detected: 'The votes are probably copies of each other. Each validator must vote from its own state.',
  invalid_vote_signature: 'A vote in the name of this authority is forged. Do not use it.',
}

/** Codes of selective disclosure, consensus and data usage. */
export const PROOF_HINTS: Readonly<Record<string, Hint>> = {
  commit_failed: () => 'Give only capabilities of the agreement, each once.',
  prove_failed: () => 'Give the complete list of the commitment, and one capability of it.',
  invalid_commitment: ({ details }) => `Fix the field ${named(details, 'field')} of the commitment.`,
  invalid_justification: () => 'Give the justification proof unchanged.',
  justification_untrusted: () => 'Give a justification that this authority issued.',
  proof_assembly_failed: ({ details }) =>
    ASSEMBLY[named(details, 'reason')] ?? 'Check the votes: chancery verify <vote>',
  invalid_threshold: () => '--threshold must be from 1 to the number of distinct validators.',
  no_policy: () => 'Publish one first: chancery data-usage policy <file>',
  missing_policy_fields: ({ details }) => `Fix the field ${named(details, 'field')} of the terms.`,
  invalid_timestamp_order: () => 'valid_until must be later than valid_from.',
  missing_intent_fields: ({ details }) => `Give ${named(details, 'field')} as a list with at least one entry.`,
  invalid_source: ({ details }) => `Fix ${named(details, 'field')}: source_id, source_type and owner_sovereign_id.`,
  intent_create_failed: ({ details }) => `Fix the field ${named(details, 'field')} of the file.`,
}
