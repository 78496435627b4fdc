import { named } from './named-details.ts'
import type { Advice } from './named-details.ts'

const AS_WRITTEN = 'Give the file as its maker wrote it; a changed record never verifies.'

/** Why an offer or a counter was turned down, by the reason in the details. */
const NEGOTIATION: Readonly<Record<string, string>> = {
  capability_not_offered: 'Ask for less: only capabilities of the offer can be agreed on.',
  offerer_blocked: 'No treaty in force led from the offerer to the responder. Issue one, then make a new offer.',
  not_a_party: 'The offer is between other sovereigns.',
  offer_signature_invalid: 'No treaty in force pins the key that signed the offer. See: chancery treaty list',
  offer_expired: 'The offer is no longer open. Ask for a new one.',
  offer_mismatch: 'The counter answers another offer. Give the offer it was made from.',
  too_many_signatures: 'Take signatures that prove nothing out of the counter: seven leave room for this one.',
  counter_signature_invalid: 'No treaty in force pins the key that signed the counter. See: chancery treaty list',
}

const turnedDown: Advice = ({ details }) => NEGOTIATION[named(details, 'reason')] ?? AS_WRITTEN

/** Codes of agreements, decisions and trust evidence. */
export const TRUST_ADVICE: Readonly<Record<string, Advice>> = {
  missing_offer_fields: ({ details }) => `Mend ${named(details, 'field')}: a sovereign and 1 to 1024 capabilities.`,
  offer_rejected: () => 'An agreement needs two sovereigns: make the offer to another one.',
  missing_counter_fields: ({ details }) => `Mend ${named(details, 'field')}: see --help.`,
  invalid_offer: () => AS_WRITTEN,
  counter_rejected: turnedDown,
  accept_rejected: turnedDown,
  invalid_agreement: () => AS_WRITTEN,
  invalid_timestamps: () => 'Times are ISO 8601, for example 2030-01-02T03:04:05Z.',
  agreement_untrusted: ({ details }) =>
    `Nothing was decided (${named(details, 'reason')}). Both parties must be recognised by a treaty in force with at ` +
    'least one role, and have signed with the keys it pins.',
  missing_boundary_fields: () => 'Name an agreement and the capability that is asked for.',
  invalid_context: ({ details }) => `Mend the member ${named(details, 'field')} of the context file.`,
  context_party_mismatch: ({ details }) =>
    `Leave ${named(details, 'field')} out of the context file: the agreement says who the parties are.`,
  boundary_policy_required: () => 'This authority decides under policies only: use chancery evaluate.',
  invalid_attestation_id: () => 'Give --attestation the id of an attestation: chancery attestation list',
  missing_validity_window: () => 'Give the policy valid_from and valid_until, with Z or an offset.',
  invalid_boundary_policy: () => 'Mend the members that the details name: see chancery boundary-policy new.',
  boundary_policy_invalid: () => 'See what is wrong with: chancery boundary-policy validate <file>',
  boundary_policy_not_found: () => 'Look for policy and version with: chancery boundary-policy list',
  boundary_policy_not_active: () => 'It is not in force: chancery boundary-policy list shows which version is.',
  boundary_policy_integrity_failed: () =>
    'Its row was changed in the database since it was published. Find out by whom; then publish it again.',
  boundary_policy_activation_refused: ({ details }) =>
    `It would make the whole active set deny (${named(details, 'reason')}). Publish a version without that problem.`,
  boundary_policy_activation_conflict: () => 'Nothing was changed. Look at the list, then run the same command again.',
  boundary_policy_version_conflict: () => 'Others publish the same policy now. Run the same command again.',
  invalid_decision: ({ details }) => `Mend the member ${named(details, 'field')} of the file.`,
  invalid_evidence: () => AS_WRITTEN,
}
