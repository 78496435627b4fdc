import { type JsonObject, member } from '@chancery/protocol'
import type { RefusedError } from '@chancery/sdk'

/** Returns the hint for one refusal. */
export type Hint = (error: RefusedError) => string

/** Returns a field of the details of a refusal as text. */
export function named(details: JsonObject, name: string, otherwise = 'named in the details'): string {
  const value = member(details, name)
  const words = Array.isArray(value) ? value : [value]
  const texts = words.filter((word) => typeof word === 'string' && word !== '')
  if (texts.length > SHOWN) return `${texts.slice(0, SHOWN).join(', ')} and ${texts.length - SHOWN} more`
  return texts.length === 0 ? otherwise : texts.join(', ')
}

/** Returns the hint for the reason in the details, after the reason itself. */
export function withReason(details: JsonObject, hints: Readonly<Record<string, string>>, otherwise: string): string {
  const reason = named(details, 'reason', '')
  return reason === '' ? otherwise : `${reason}: ${hints[reason] ?? otherwise}`
}

/** Maximum number of ids on a screen; --json prints all. */
const SHOWN = 5

/** Hints for refused votes, by the reason in the details. */
const ASSEMBLY: Readonly<Record<string, string>> = {
  threshold_not_met: 'Too few of the given validators approve. Collect more votes, or lower --threshold.',
  proof_id_mismatch: 'A vote is on another justification. Give only votes on this one.',
  cascade_detected: 'The votes are probably copies of each other. Each validator must vote from its own state.',
  invalid_vote_signature: 'A vote is unsigned, or not signed by the key of its validator. Ask for the vote again.',
  vote_not_in_validator_set: 'A vote is of another network. Name it with --validator, or leave its vote out.',
  unknown_validator_key: 'Give the key of every validator with --key <name>=<key>, or none at all.',
  duplicate_validator_key: 'Two validators have one key, so they count as one. Check --key.',
  contradictory_votes: 'A validator votes for and against. Ask it which vote is valid.',
}

/** Hints for a justification that is not trusted, by the reason in the details. */
const JUSTIFICATION: Readonly<Record<string, string>> = {
  unknown_issuer: 'No treaty or partner names a key of its issuer. Give one with --key.',
  missing_signature: 'The justification is not signed. Give the file unchanged.',
  invalid_signature: 'Another key signed the justification. Check --key and the treaty of its issuer.',
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
  no_policy: () => 'Publish one first: chancery policy publish <file>',
  missing_policy_fields: ({ details }) => `Fix the field ${named(details, 'field')} of the terms.`,
  invalid_timestamp_order: () => 'valid_until must be later than valid_from.',
  missing_intent_fields: ({ details }) => `Give ${named(details, 'field')} as a list with at least one entry.`,
  invalid_source: ({ details }) => `Fix ${named(details, 'field')}: source_id, source_type and owner_sovereign_id.`,
  intent_create_failed: ({ details }) => `Fix the field ${named(details, 'field')} of the file.`,
}

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
  boundary_policy_required: () => 'This authority decides under policies only: use chancery ask --as operator.',
  invalid_attestation_id: () => 'Give --attestation the id of an attestation: chancery attestation list',
  missing_validity_window: () => 'Give the policy valid_from and valid_until, with Z or an offset.',
  invalid_boundary_policy: () => 'Fix the fields named in the details. See chancery policy new.',
  boundary_policy_invalid: () => 'Show the problems with: chancery policy publish --dry-run <file>',
  boundary_policy_not_found: () => 'Find policy and version with: chancery policy list',
  boundary_policy_not_active: () => 'This version is not active. Find the active one with: chancery policy list',
  boundary_policy_integrity_failed: () =>
    'Its database row was changed after it was published. Find the cause, then publish it again.',
  boundary_policy_activation_refused: ({ details }) =>
    details['reason'] === 'gate_type_unavailable'
      ? 'This authority cannot run one of its gates now: Cedar is not installed or did not respond in time, or an origin is not in NA_FACT_ORIGINS. Fix that, then run the same command again.'
      : `It would make the whole active set deny (${named(details, 'reason')}). Publish a version without that problem.`,
  boundary_policy_activation_conflict: () =>
    'Nothing was changed. Check chancery policy list, then run the same command again.',
  boundary_policy_version_conflict: () => 'Another operator publishes the same policy. Run the same command again.',
  invalid_decision: ({ details }) => `Fix the field ${named(details, 'field')} of the file.`,
  invalid_evidence: () => AS_WRITTEN,
}
