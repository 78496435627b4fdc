/** Texts for the reasons of protocol/trust-operations 8.6. */
export const CONSENSUS_REASONS: Readonly<Record<string, string>> = {
  valid: 'enough independent validators approved.',
  missing_signature: 'its assembler did not sign it.',
  invalid_assembler_signature: 'no given key assembled it, or it was changed since. Do not use it.',
  proof_id_mismatch: 'it contains a vote on another justification.',
  invalid_vote_signature: 'it contains a vote that is unsigned or forged.',
  unknown_validator_key: 'you gave no key of the validator of a vote. Add it with --validator-key.',
  vote_not_in_validator_set: 'it contains a vote of a network that is not one of its validators.',
  threshold_not_met: 'too few distinct validators approve.',
  missing_context_digest: 'a vote does not name the state it is based on.',
  cascade_detected: 'the votes are probably copies of each other.',
  expired: 'its five minutes are over.',
}
