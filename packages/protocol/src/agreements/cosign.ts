import { readOrUndefined } from '../reading/read-or-undefined.ts'
import type { AgreementRecord, CapabilityCounter, CapabilityOffer } from '../artifacts/capability-offer.ts'
import { type TrustEvidence, trustEvidenceForm, verdictOf, verifyTrustEvidence } from '../artifacts/trust-evidence.ts'
import { canonicalJson } from '../canonical/canonical-json.ts'
import { type JsonValue, member } from '../canonical/utf8.ts'
import { DAY, type Instant, seconds } from '../canonical/time.ts'
import { instantOf } from '../reading/text.ts'
import { MAX_SIGNATURES } from '../reading/trust-form.ts'
import { type Received, readReceived, verifyReceived, verifyReceivedSignature } from '../signing/received.ts'
import { VALID, type Verdict, invalid } from '../artifacts/verdict.ts'

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
function isAnswerTo(answer: Received<unknown>, offer: Received<CapabilityOffer>): boolean {
  return COPIED.every((name) => textOf(answer.wire, name) === textOf(offer.wire, name))
}

function textOf(wire: Received<unknown>['wire'], name: string): string {
  const absent: JsonValue = null
  return canonicalJson(member(wire, name) ?? absent)
}

export type CosignReason =
  | 'not_a_party'
  | 'offer_signature_invalid'
  | 'offer_mismatch'
  | 'terms_mismatch'
  | 'responder_signature_invalid'
  | 'responder_evidence_invalid'
  | 'offer_expired'
  | 'offerer_blocked'
  | 'too_many_signatures'

export type CosignVerdict =
  /** `isSigned`: the offerer has already signed the record. */
  { readonly ok: true; readonly isSigned: boolean } | { readonly ok: false; readonly reason: CosignReason }

export interface CosignTrust {
  readonly own: { readonly sovereign_id: string; readonly keys: readonly string[] }
  readonly responderKeys: readonly string[]
  readonly now: Instant
}

/** Difference between the clocks of two authorities. */
const EVIDENCE_TOLERANCE = seconds(300)
/** How long after its offer an accepted agreement can be signed by the offerer. */
const COSIGN_TIME = DAY

/**
 * Checks whether the offerer may sign an agreement that the responder accepted (protocol/trust-operations 3.11):
 * 3. the offer and the agreement are its own; 4. it signed the offer; 5. the responder accepted exactly this offer;
 * 6. the unsigned end repeats the signed one; 7. 8. the responder signed, and gave its own evidence in time;
 * 9. the offer is at most a day over, and the terms are still valid; 10. it was no block;
 * 11. there is room for one more signature.
 */
export async function checkCosignable(
  agreement: Received<AgreementRecord>,
  offer: Received<CapabilityOffer>,
  trust: CosignTrust,
): Promise<CosignVerdict> {
  const reason = await findCosignProblem(agreement, offer, trust)
  if (reason !== undefined) return { ok: false, reason }
  if (await verifyReceivedSignature(agreement, trust.own.keys)) return { ok: true, isSigned: true }
  if (agreement.record.signatures.length >= MAX_SIGNATURES) return { ok: false, reason: 'too_many_signatures' }
  return { ok: true, isSigned: false }
}

async function findCosignProblem(
  agreement: Received<AgreementRecord>,
  offer: Received<CapabilityOffer>,
  { own, responderKeys, now }: CosignTrust,
): Promise<CosignReason | undefined> {
  const { agreed_terms, expires_at, responder_sovereign_id } = agreement.record
  const isOfferer = [agreement.record, offer.record].every((each) => each.offerer_sovereign_id === own.sovereign_id)
  if (!isOfferer || responder_sovereign_id === own.sovereign_id) return 'not_a_party'
  if (!(await verifyReceived(offer, own.keys)).ok) return 'offer_signature_invalid'
  if (!isAnswerTo(agreement, offer) || !hasTermsOf(agreement, offer)) return 'offer_mismatch'
  const ends = instantOf(agreed_terms.valid_until)
  if (instantOf(expires_at) !== ends) return 'terms_mismatch'
  if (!(await verifyReceived(agreement, responderKeys)).ok) return 'responder_signature_invalid'
  const offerEnds = instantOf(offer.record.expires_at)
  const evidence = readEvidence(agreement)
  if (evidence === undefined || !(await verifyTrustEvidence(evidence, { keys: responderKeys })).ok)
    return 'responder_evidence_invalid'
  const { source_sovereign_id, target_sovereign_id, issued_at } = evidence.record
  const isAboutParties = source_sovereign_id === responder_sovereign_id && target_sovereign_id === own.sovereign_id
  if (!isAboutParties || instantOf(issued_at) > offerEnds + EVIDENCE_TOLERANCE) return 'responder_evidence_invalid'
  if (now > offerEnds + COSIGN_TIME || now >= ends) return 'offer_expired'
  return verdictOf(offer.record.offerer_evidence) === 'block' ? 'offerer_blocked' : undefined
}

/** Compared as received, like everything that was signed. */
function hasTermsOf({ wire }: Received<AgreementRecord>, offer: Received<CapabilityOffer>): boolean {
  const [agreed, requested] = [member(wire, 'agreed_terms'), member(offer.wire, 'requested_terms')]
  return canonicalJson(agreed ?? null) === canonicalJson(requested ?? null)
}

function readEvidence({ record }: Received<AgreementRecord>): Received<TrustEvidence> | undefined {
  return readOrUndefined(() => readReceived(trustEvidenceForm, record.responder_evidence))
}
