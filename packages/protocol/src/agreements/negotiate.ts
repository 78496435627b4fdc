import type { CapabilityCounter } from '../artifacts/capability-counter.ts'
import type { CapabilityOffer } from '../artifacts/capability-offer.ts'
import { verdictOf } from '../artifacts/trust-evidence.ts'
import { VALID, type Verdict, invalid } from '../artifacts/verdict.ts'
import { canonicalJson } from '../canonical/canonical-json.ts'
import { type JsonValue, member } from '../canonical/json-value.ts'
import type { Instant } from '../canonical/time.ts'
import { instantOf } from '../reading/text.ts'
import { MAX_SIGNATURES } from '../reading/trust-form.ts'
import { type Received, verifyReceived } from '../signing/received.ts'

export type NegotiationReason =
  | 'capability_not_offered'
  | 'offerer_blocked'
  | 'not_a_party'
  | 'offer_signature_invalid'
  | 'offer_expired'
  | 'offer_mismatch'
  | 'counter_signature_invalid'
  | 'too_many_signatures'

interface Bystander {
  readonly own_sovereign_id: string
  readonly now: Instant
}

/**
 * Whether an offer may be countered with these capabilities (protocol/trust-operations 3.7):
 * 1. nothing beyond the offer; 2. the offerer did not block us; 3. we are a party;
 * 4. the offerer signed it: an invented offer must not get our signature; 5. it is still valid.
 */
export async function checkCounterable(
  offer: Received<CapabilityOffer>,
  against: Bystander & { readonly capabilities: readonly string[]; readonly offererKeys: readonly string[] },
): Promise<Verdict<NegotiationReason>> {
  const { record } = offer
  if (!isWithin(against.capabilities, record)) return invalid('capability_not_offered')
  if (isBlocked(record)) return invalid('offerer_blocked')
  if (!isParty(record, against.own_sovereign_id)) return invalid('not_a_party')
  if (!(await verifyReceived(offer, against.offererKeys)).ok) return invalid('offer_signature_invalid')
  return isExpired(record, against.now) ? invalid('offer_expired') : VALID
}

/** Checks whether an offer may be accepted without changes (protocol/trust-operations 3.8, form "offer"). */
export async function checkAcceptableOffer(
  offer: Received<CapabilityOffer>,
  against: Bystander & { readonly offererKeys: readonly string[] },
): Promise<Verdict<NegotiationReason>> {
  const { record } = offer
  if (!isParty(record, against.own_sovereign_id)) return invalid('not_a_party')
  if (!(await verifyReceived(offer, against.offererKeys)).ok) return invalid('offer_signature_invalid')
  if (isExpired(record, against.now)) return invalid('offer_expired')
  return isBlocked(record) ? invalid('offerer_blocked') : VALID
}

/**
 * Whether a counter to our own offer may be accepted (protocol/trust-operations 3.8, form "counter"):
 * 0. there is room for our signature: a record with more than a reader takes would be signed and of no use;
 * 1. we made the offer; 2. 3. the counter answers this very offer: a counter to another one would carry its terms over;
 * 4. it asks for nothing more; 5. the offer is really ours; 6. the responder, or we in its place, signed the counter;
 * 7. the offer is still valid; 8. and was no block.
 */
export async function checkAcceptableCounter(
  counter: Received<CapabilityCounter>,
  offer: Received<CapabilityOffer>,
  against: Bystander & { readonly ownKey: string; readonly responderKeys: readonly string[] },
): Promise<Verdict<NegotiationReason>> {
  const { record } = offer
  if (counter.record.signatures.length >= MAX_SIGNATURES) return invalid('too_many_signatures')
  if (record.offerer_sovereign_id !== against.own_sovereign_id) return invalid('not_a_party')
  if (!isAnswerTo(counter, offer)) return invalid('offer_mismatch')
  if (!isWithin(counter.record.agreed_terms.capabilities, record)) return invalid('capability_not_offered')
  if (!(await verifyReceived(offer, [against.ownKey])).ok) return invalid('offer_signature_invalid')
  const signers = [...against.responderKeys, against.ownKey]
  if (!(await verifyReceived(counter, signers)).ok) return invalid('counter_signature_invalid')
  if (isExpired(record, against.now)) return invalid('offer_expired')
  return isBlocked(record) ? invalid('offerer_blocked') : VALID
}

function isWithin(capabilities: readonly string[], offer: CapabilityOffer): boolean {
  const offered = new Set(offer.requested_terms.capabilities)
  return capabilities.every((capability) => offered.has(capability))
}

function isBlocked(offer: CapabilityOffer): boolean {
  return verdictOf(offer.offerer_evidence) === 'block'
}

function isParty(offer: CapabilityOffer, sovereign_id: string): boolean {
  return [offer.offerer_sovereign_id, offer.responder_sovereign_id].includes(sovereign_id)
}

function isExpired(offer: CapabilityOffer, now: Instant): boolean {
  return now > instantOf(offer.expires_at)
}

const COPIED = ['offer_id', 'offerer_sovereign_id', 'responder_sovereign_id', 'graph_digest', 'offerer_evidence']

/** Compared as received: two evidence objects are the same only when their bytes are. */
export function isAnswerTo(answer: Received<unknown>, offer: Received<CapabilityOffer>): boolean {
  return COPIED.every((name) => textOf(answer.wire, name) === textOf(offer.wire, name))
}

function textOf(wire: Received<unknown>['wire'], name: string): string {
  const absent: JsonValue = null
  return canonicalJson(member(wire, name) ?? absent)
}
