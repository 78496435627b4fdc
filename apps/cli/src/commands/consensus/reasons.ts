/** What each reason of protocol/trust-operations 8.6 means to the person who holds the proof. */
export const CONSENSUS_REASONS: Readonly<Record<string, string>> = {
  valid: 'enough independent validators approved.',
  missing_signature: 'its assembler did not sign it.',
  invalid_assembler_signature: 'no given key assembled it, or it was changed since. Do not use it.',
  proof_id_mismatch: 'it holds a vote about something else.',
  invalid_vote_signature: 'it holds a vote that is unsigned or forged.',
  unknown_validator_key: 'a vote counts whose validator you gave no key of. Add it with --validator-key.',
  vote_not_in_validator_set: 'somebody approves who is not among its validators.',
  threshold_not_met: 'too few distinct validators approve.',
  missing_context_digest: 'a vote does not say from which state it was made.',
  cascade_detected: 'the votes look like copies of one another.',
  expired: 'its five minutes are over.',
}
