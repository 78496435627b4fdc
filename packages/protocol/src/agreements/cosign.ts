import { readOrUndefined } from '../reading/read-or-undefined.ts'
import type { AgreementRecord } from '../artifacts/agreement-record.ts'
import type { CapabilityOffer } from '../artifacts/capability-offer.ts'
import { type TrustEvidence, trustEvidenceForm, verdictOf, verifyTrustEvidence } from '../artifacts/trust-evidence.ts'
import { canonicalJson } from '../canonical/canonical-json.ts'
import { member } from '../canonical/json-value.ts'
import { DAY, type Instant, seconds } from '../canonical/time.ts'
import { instantOf } from '../reading/text.ts'
import { MAX_SIGNATURES } from '../reading/trust-form.ts'
import { type Received, readReceived, verifyReceived, verifyReceivedSignature } from '../signing/received.ts'
import { isAnswerTo } from './negotiate.ts'

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
