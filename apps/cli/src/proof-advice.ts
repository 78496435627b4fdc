import { named } from './named-details.ts'
import type { Advice } from './named-details.ts'

/** Why votes did not make a consensus, by the reason in the details. */
const ASSEMBLY: Readonly<Record<string, string>> = {
  threshold_not_met: 'Too few of the named validators approve with a signed vote. Collect more, or lower --threshold.',
  proof_id_mismatch: 'A vote is about another justification. Give votes on this one only.',
  cascade_detected: 'The votes look like copies of one another: validators must judge from a state of their own.',
  invalid_vote_signature: 'A vote in the name of this authority is not its own. Do not use it.',
}

/** Codes of selective disclosure, consensus and data usage. */
export const PROOF_ADVICE: Readonly<Record<string, Advice>> = {
  commit_failed: () => 'Commit to capabilities of the agreement only, each once.',
  prove_failed: () => 'Give the whole list the commitment was made over, and one capability of it.',
  invalid_commitment: ({ details }) => `Mend the member ${named(details, 'field')} of the commitment.`,
  invalid_justification: () => 'Give the justification proof as the authority wrote it.',
  justification_untrusted: () => 'Only a justification this authority issued itself can be voted on here.',
  proof_assembly_failed: ({ details }) =>
    ASSEMBLY[named(details, 'reason')] ?? 'Look at the votes: chancery verify <vote>.',
  invalid_threshold: () => '--threshold lies between 1 and the number of distinct validators.',
  no_policy: () => 'Publish one first: chancery data-usage policy <file>',
  missing_policy_fields: ({ details }) => `Mend the member ${named(details, 'field')} of the terms.`,
  invalid_timestamp_order: () => 'valid_until must be later than valid_from.',
  missing_intent_fields: ({ details }) => `Give ${named(details, 'field')} as a list with at least one entry.`,
  invalid_source: ({ details }) => `Mend ${named(details, 'field')}: source_id, source_type and owner_sovereign_id.`,
  intent_create_failed: ({ details }) => `Mend the member ${named(details, 'field')} of the file.`,
}
