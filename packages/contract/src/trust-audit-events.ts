/** Events of agreements, decisions and evidence (protocol/trust-operations 11), which the table of all events has. */
export const TRUST_AUDIT_EVENTS = {
  capability_offer_built: {
    when: 'A capability offer was signed.',
    details: ['offer_id', 'offerer_sovereign_id', 'responder_sovereign_id', 'capabilities'],
  },
  capability_counter_built: {
    when: 'A capability counter was signed.',
    details: ['offer_id', 'offerer_sovereign_id', 'responder_sovereign_id', 'capabilities'],
  },
  agreement_accepted: {
    when: 'An agreement record was signed.',
    details: ['agreement_id', 'offer_id', 'offerer_sovereign_id', 'responder_sovereign_id', 'capabilities'],
  },
  agreement_cosigned: {
    when: 'The offerer signed an agreement that the responder had accepted.',
    details: ['agreement_id', 'offer_id', 'offerer_sovereign_id', 'responder_sovereign_id', 'capabilities'],
  },
  agreement_untrusted: {
    when: 'A presented agreement was refused because it is not trusted.',
    details: ['route', 'agreement_id', 'offerer_sovereign_id', 'responder_sovereign_id', 'reason', 'party'],
  },
  boundary_decision_made: {
    when: 'A decision was signed without policies.',
    details: ['decision_id', 'context_id', 'agreement_id', 'requested_capability', 'authorized'],
  },
  boundary_legacy_decide_refused: {
    when: 'A decision without policies was asked for while policies are required.',
    details: ['requested_capability'],
  },
  boundary_policy_decision_made: {
    when: 'A policy-aware decision was signed on the basis of an agreement.',
    details: [
      'decision_id',
      'context_id',
      'agreement_id',
      'requested_capability',
      'authorized',
      'applied_policies',
      'failed_gates',
      'resolution_status',
      'resolution_failure',
    ],
  },
  boundary_attestation_decision_made: {
    when: 'A policy-aware decision was signed on the basis of an attestation.',
    details: [
      'decision_id',
      'context_id',
      'attestation_id',
      'subject_id',
      'requester_sovereign_id',
      'requested_capability',
      'authorized',
      'denial_reason',
      'revocation_seq_checked',
      'applied_policies',
      'failed_gates',
      'asked_by',
      'cert_id',
      'issuer_sovereign_id',
      'treaty_id',
      'relayed_by',
    ],
  },
  boundary_request_refused: {
    when: 'A signed request for a decision was refused. Many of them are only counted.',
    details: ['code', 'reason', 'cert_id', 'attestation_id'],
  },
  approval_requested: {
    when: 'A request was held until a person approves it.',
    details: ['approval_id', 'decision_id', 'titles', 'expires_at'],
  },
  approval_stated: {
    when: 'An approver approved a held request, and more approvals are needed.',
    details: ['approval_id', 'decision_id', 'statement_id', 'approver_kind', 'approver_id', 'titles'],
  },
  approval_approved: {
    when: 'The last needed approver approved a held request.',
    details: ['approval_id', 'decision_id', 'statement_id', 'approver_kind', 'approver_id', 'use_until', 'titles'],
  },
  approval_denied: {
    when: 'An approver denied a held request.',
    details: ['approval_id', 'decision_id', 'statement_id', 'approver_kind', 'approver_id', 'titles'],
  },
  approval_expired: {
    when: 'A held request was not approved, or an approval was not used, in time.',
    details: ['approval_id', 'decision_id', 'cause', 'titles'],
  },
  approval_cancelled: {
    when: 'An approval was cancelled before it was used.',
    details: ['approval_id', 'decision_id', 'cause', 'titles'],
  },
  approval_used: {
    when: 'An approved request was authorized.',
    details: ['approval_id', 'decision_id', 'titles'],
  },
  approval_statement_refused: {
    when: 'A statement on an approval was refused. Many of them are only counted.',
    details: ['approval_id', 'code', 'reason', 'approver_id'],
  },
  boundary_policy_validated: {
    when: 'A boundary policy intent was checked; nothing was stored.',
    details: ['policy_id', 'version', 'issue_codes'],
  },
  boundary_policy_published: {
    when: 'A boundary policy version was signed and stored.',
    details: ['policy_id', 'version', 'policy_digest', 'warnings'],
  },
  boundary_policy_activated: {
    when: 'A boundary policy version was made active.',
    details: ['policy_id', 'version', 'policy_digest', 'previous_version', 'rollback'],
  },
  boundary_policy_deactivated: {
    when: 'A boundary policy version was taken out of force.',
    details: ['policy_id', 'version', 'policy_digest'],
  },
  decision_stored: {
    when: 'A decision entered the evidence store.',
    details: ['decision_id', 'store_sequence'],
  },
  evidence_recorded: {
    when: 'Execution evidence entered the evidence store.',
    details: ['evidence_id', 'decision_id', 'resource_id', 'store_sequence'],
  },
  evidence_duplicate: {
    when: 'Execution evidence that is already stored was sent again. Many of them are counted without names.',
    details: ['evidence_id', 'decision_id', 'resource_id', 'store_sequence', 'count'],
  },
  evidence_rejected: {
    when: 'Execution evidence was refused; its payload is not stored. Unauthenticated callers are counted, not named.',
    details: ['rejection_id', 'code', 'count', 'evidence_id', 'decision_id', 'resource_id', 'executor_sovereign_id'],
  },
  // key_id is the acting operator on every admin event, so the executor key has another name.
  executor_key_registered: {
    when: 'An executor key was registered.',
    details: ['executor_key_id', 'executor_sovereign_id'],
  },
  executor_key_retired: {
    when: 'An executor key was retired.',
    details: ['executor_key_id', 'executor_sovereign_id'],
  },
  budget_warning: {
    when: 'A budget has reached the percent of NA_BUDGET_WARNING_PERCENT; once for each counter and window.',
    details: ['source', 'budget_key', 'window', 'percent'],
  },
  budget_exhausted: {
    when: 'A budget has reached its limit; once for each counter and window.',
    details: ['source', 'budget_key', 'window', 'percent'],
  },
  budget_overrun: {
    when: 'An execution was reported after its amount had been released: the budget is above its limit.',
    details: ['source', 'budget_key', 'window', 'percent'],
  },
  budget_state_repaired: {
    when: 'A counter differed from the evidence entries, and has their amount now.',
    details: ['source', 'budget_key', 'window'],
  },
  evidence_retention_applied: {
    when: 'Retention ran, also when it removed nothing.',
    details: ['checkpoint_id', 'removed_count', 'removed_through_sequence'],
  },
  evidence_anchored: {
    when: 'The head of the evidence store was anchored.',
    details: ['anchor_sequence', 'store_sequence'],
  },
  evidence_bundle_signed: {
    when: 'A stored decision was signed in an envelope for other verifiers.',
    details: ['decision_id', 'record_digest', 'store_sequence'],
  },
  evidence_anchor_refused: {
    when: 'The evidence store no longer continues from its last anchor.',
    details: ['anchor_sequence', 'store_sequence', 'reason'],
  },
  evidence_anchor_failed: {
    when: 'An automatic anchor could not be made; the appended entry stays.',
    details: ['store_sequence', 'reason'],
  },
  evidence_log_witness_alarm: {
    when: 'A witness has more entries of the evidence log than this authority, or others.',
    details: ['witness', 'kind', 'witness_size', 'tree_size', 'proven'],
  },
  evidence_log_witness_alarm_ended: {
    when: 'A witness that had raised an alarm cosigned the evidence log again.',
    details: ['witness', 'kind', 'witness_size', 'tree_size', 'proven'],
  },
  trust_evidence_built: {
    when: 'Trust evidence was signed.',
    details: ['evidence_id', 'source_sovereign_id', 'target_sovereign_id', 'verdict'],
  },
  capability_commitment_created: {
    when: 'A capability commitment was signed.',
    details: ['commitment_id', 'agreement_id'],
  },
  capability_nullifier_issued: {
    when: 'A capability nullifier was signed.',
    details: ['nullifier_id', 'proof_id'],
  },
  validator_vote_cast: {
    when: 'A vote on a justification proof was signed.',
    details: ['vote_id', 'proof_id', 'decision_id', 'issuer_sovereign_id', 'trust_basis', 'differs_from_pinned'],
  },
  consensus_proof_assembled: {
    when: 'A consensus proof was signed.',
    details: ['consensus_id', 'proof_id', 'decision_id'],
  },
  data_license_policy_created: {
    when: 'A data license policy was signed and made active.',
    details: ['policy_id', 'previous_policy_id'],
  },
  data_access_intent_created: {
    when: 'A data access intent was signed.',
    details: ['intent_id', 'decision_id'],
  },
  data_usage_violation_recorded: {
    when: 'Uses of data that a license does not allow were stored as evidence.',
    details: ['intent_id', 'policy_id', 'violation_reason', 'violation_count', 'store_sequence'],
  },
} as const
