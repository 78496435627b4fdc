import { type Hint, named, withReason } from './details.ts'

const AS_WRITTEN = 'Give the file unchanged: a changed record does not verify.'

/** Hints for refused offers and counters, by the reason in the details. */
const NEGOTIATION: Readonly<Record<string, string>> = {
  capability_not_offered: 'Ask for less: only capabilities of the offer can be agreed on.',
  offerer_blocked: 'No active treaty connects the offerer and the responder. Issue one, then make a new offer.',
  not_a_party: 'The offer is between other networks. Give another file.',
  offer_signature_invalid: 'No active treaty has the key that signed the offer. See: chancery treaty list',
  offer_expired: 'The offer is no longer open. Ask for a new one.',
  offer_mismatch: 'The counter belongs to another offer. Give that offer.',
  too_many_signatures: 'Remove invalid signatures from the counter: at most seven are allowed.',
  counter_signature_invalid: 'No active treaty has the key that signed the counter. See: chancery treaty list',
}

/** Hints for agreements that the offerer cannot sign, by the reason in the details. */
const COSIGN: Readonly<Record<string, string>> = {
  not_a_party: 'This authority did not make the offer. Its offerer must sign.',
  offer_signature_invalid: 'This authority did not sign the offer. Give the offer that it made.',
  offer_mismatch: 'The agreement differs from the offer. Give the offer that was accepted.',
  terms_mismatch: 'The agreement ends at another time than its terms.',
  responder_signature_invalid: 'No active treaty has the key of the responder. See: chancery treaty list',
  responder_evidence_invalid: 'The evidence of the responder does not verify. Ask it to accept the offer again.',
  offer_expired: 'The offer ended more than a day ago, or its terms ended. Make a new one.',
  offerer_blocked: 'No active treaty connected the parties when the offer was made. Make a new one.',
  too_many_signatures: 'Remove invalid signatures: at most seven are allowed.',
}

const negotiationHint: Hint = ({ details }) => NEGOTIATION[named(details, 'reason')] ?? AS_WRITTEN

/** Codes of agreements, decisions and trust evidence. */
export const TRUST_HINTS: Readonly<Record<string, Hint>> = {
  missing_offer_fields: ({ details }) => `Fix ${named(details, 'field')}: a network and 1 to 1024 capabilities.`,
  offer_rejected: () => 'An agreement needs two networks. Make the offer to another one.',
  missing_counter_fields: ({ details }) => `Fix ${named(details, 'field')}. See --help.`,
  invalid_offer: () => AS_WRITTEN,
  counter_rejected: negotiationHint,
  accept_rejected: negotiationHint,
  cosign_rejected: ({ details }) => withReason(details, COSIGN, AS_WRITTEN),
  missing_cosign_fields: () => 'Give the agreement and the offer: chancery agreement cosign <file> --offer <file>',
  invalid_agreement: () => AS_WRITTEN,
  invalid_timestamps: () => 'Times are ISO 8601, for example 2030-01-02T03:04:05Z.',
  agreement_untrusted: ({ details }) =>
    `Nothing was decided (${named(details, 'reason')}). Both parties must be recognised by an active treaty with at ` +
    'least one role, and must have signed with the keys of that treaty.',
  missing_boundary_fields: () => 'Give an agreement and the requested capability.',
  invalid_context: ({ details }) => `Fix the field ${named(details, 'field')} of the context file.`,
  context_party_mismatch: ({ details }) =>
    `Remove ${named(details, 'field')} from the context file: the agreement names the parties.`,
  boundary_policy_required: () => 'This authority decides under policies only: use chancery evaluate.',
  invalid_attestation_id: () => 'Give --attestation the id of an attestation: chancery attestation list',
  missing_validity_window: () => 'Give the policy valid_from and valid_until, with Z or an offset.',
  invalid_boundary_policy: () => 'Fix the fields named in the details. See chancery boundary-policy new.',
  boundary_policy_invalid: () => 'Show the problems with: chancery boundary-policy validate <file>',
  boundary_policy_not_found: () => 'Find policy and version with: chancery boundary-policy list',
  boundary_policy_not_active: () =>
    'This version is not active. Find the active one with: chancery boundary-policy list',
  boundary_policy_integrity_failed: () =>
    'Its database row was changed after it was published. Find the cause, then publish it again.',
  boundary_policy_activation_refused: ({ details }) =>
    details['reason'] === 'gate_type_unavailable'
      ? 'This authority cannot run one of its gates now: Cedar is not installed or did not respond in time, or an origin is not in NA_FACT_ORIGINS. Fix that, then run the same command again.'
      : `It would make the whole active set deny (${named(details, 'reason')}). Publish a version without that problem.`,
  boundary_policy_activation_conflict: () =>
    'Nothing was changed. Check chancery boundary-policy list, then run the same command again.',
  boundary_policy_version_conflict: () => 'Another operator publishes the same policy. Run the same command again.',
  invalid_decision: ({ details }) => `Fix the field ${named(details, 'field')} of the file.`,
  invalid_evidence: () => AS_WRITTEN,
}
