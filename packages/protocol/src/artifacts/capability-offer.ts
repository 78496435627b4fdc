import type { Instant } from '../canonical/time.ts'
import { writeInstant } from '../canonical/write-time.ts'
import type { ReadBy } from '../reading/schema.ts'
import { integer, object, string } from '../reading/shape.ts'
import { identifier, label, requireOrder, timestamp } from '../reading/text.ts'
import { type RecordOf, closedPart, listOf, signedListForm, unsigned, yes } from '../reading/trust-form.ts'
import { asJson } from '../signing/verify-any.ts'
import type { TrustEvidence } from './trust-evidence.ts'
import type { Signature } from '../signing/keys.ts'

export const agreementTerms = closedPart(
  {
    /** In the order they were given. */
    capabilities: yes(listOf(label, { min: 1 })),
    scope: yes(object, {}),
    valid_from: yes(timestamp),
    valid_until: yes(timestamp),
    /** Lowest freshness sequence a request must state. */
    freshness_commitment: yes(integer(0, Number.MAX_SAFE_INTEGER), 0),
  },
  (terms) => requireOrder(terms, 'valid_from', '<', 'valid_until'),
)

/** What is agreed, and for how long (protocol/trust-operations 3.1). */
export type AgreementTerms = ReadBy<typeof agreementTerms>

export const capabilityOfferForm = signedListForm({
  offer_id: yes(identifier),
  offerer_sovereign_id: yes(identifier),
  responder_sovereign_id: yes(identifier),
  requested_terms: yes(agreementTerms),
  graph_digest: yes(string),
  /** Complete trust evidence about the responder, with its signatures. */
  offerer_evidence: yes(object, {}),
  /** Last moment of acceptance. */
  expires_at: yes(timestamp),
  created_at: yes(timestamp),
})

/** Capabilities one sovereign offers another (protocol/trust-operations 3.2). */
export type CapabilityOffer = ReadBy<typeof capabilityOfferForm>

export function draftCapabilityOffer(facts: {
  readonly offer_id: string
  readonly responder_sovereign_id: string
  readonly requested_terms: AgreementTerms
  readonly evidence: TrustEvidence
  readonly expires_at: string
  readonly now: Instant
}): CapabilityOffer {
  const { evidence, now, ...named } = facts
  return {
    ...named,
    offerer_sovereign_id: evidence.source_sovereign_id,
    graph_digest: evidence.graph_digest,
    offerer_evidence: asJson(evidence),
    created_at: writeInstant(now),
    signatures: [],
  }
}

const agreedMembers = {
  agreed_terms: yes(agreementTerms),
  graph_digest: yes(string),
  offer_id: yes(identifier),
  offerer_evidence: yes(object, {}),
  offerer_sovereign_id: yes(identifier),
  responder_evidence: yes(object, {}),
  responder_sovereign_id: yes(identifier),
}

/** What a counter and the record built from it sign, member for member (protocol/trust-operations 3.4). */
export type AgreedBody = RecordOf<typeof agreedMembers>

/** Identical for both records by design: the signature on a counter stays valid in the record built from it. */
const AGREED_FIELDS: readonly string[] = Object.keys(agreedMembers)

export const capabilityCounterForm = signedListForm(
  { ...agreedMembers, expires_at: unsigned(timestamp) },
  { only: AGREED_FIELDS },
)

/** Other terms in answer to an offer (protocol/trust-operations 3.3). */
export type CapabilityCounter = ReadBy<typeof capabilityCounterForm>

export function draftCapabilityCounter(facts: {
  readonly offer: CapabilityOffer
  readonly agreed_terms: AgreementTerms
  readonly evidence: TrustEvidence
}): CapabilityCounter {
  const { offer, agreed_terms, evidence } = facts
  return {
    offer_id: offer.offer_id,
    offerer_sovereign_id: offer.offerer_sovereign_id,
    responder_sovereign_id: offer.responder_sovereign_id,
    agreed_terms,
    graph_digest: offer.graph_digest,
    offerer_evidence: offer.offerer_evidence,
    responder_evidence: asJson(evidence),
    expires_at: offer.expires_at,
    signatures: [],
  }
}

export const agreementRecordForm = signedListForm(
  {
    ...agreedMembers,
    agreement_id: unsigned(identifier),
    established_at: unsigned(timestamp),
    expires_at: unsigned(timestamp),
  },
  { only: AGREED_FIELDS },
)

/**
 * An agreement of two sovereigns (protocol/trust-operations 3.4). `agreement_id`, `established_at` and `expires_at`
 * are not signed, so they grant nothing; `agreed_terms.valid_until` is the limit that counts.
 */
export type AgreementRecord = ReadBy<typeof agreementRecordForm>

interface Establishment {
  readonly agreement_id: string
  readonly now: Instant
}

/** The terms as offered; `evidence` is what the responder found about the offerer. */
export function draftAgreementFromOffer(
  facts: Establishment & { readonly offer: CapabilityOffer; readonly evidence: TrustEvidence },
): AgreementRecord {
  const { offer, evidence } = facts
  const body: AgreedBody = {
    offer_id: offer.offer_id,
    offerer_sovereign_id: offer.offerer_sovereign_id,
    responder_sovereign_id: offer.responder_sovereign_id,
    agreed_terms: offer.requested_terms,
    offerer_evidence: offer.offerer_evidence,
    responder_evidence: asJson(evidence),
    graph_digest: offer.graph_digest,
  }
  return establish(body, [], facts)
}

/** The countered terms with the responder's signature, which covers the same body. */
export function draftAgreementFromCounter(
  facts: Establishment & { readonly counter: CapabilityCounter },
): AgreementRecord {
  const { expires_at: _ofTheOffer, signatures, ...body } = facts.counter
  return establish(body, signatures, facts)
}

function establish(body: AgreedBody, signatures: readonly Signature[], facts: Establishment): AgreementRecord {
  const established_at = writeInstant(facts.now)
  const unprotected = { agreement_id: facts.agreement_id, established_at, expires_at: body.agreed_terms.valid_until }
  return { ...body, ...unprotected, signatures }
}
