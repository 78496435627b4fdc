import type { ReadBy } from '../reading/read.ts'
import { object, string } from '../reading/shape.ts'
import { identifier, timestamp } from '../reading/text.ts'
import { type RecordOf, signedListForm, unsigned, yes } from '../reading/trust-form.ts'
import { asJson } from '../signing/forms.ts'
import { type AgreementTerms, agreementTerms } from './agreement-terms.ts'
import type { CapabilityOffer } from './capability-offer.ts'
import type { TrustEvidence } from './trust-evidence.ts'

export const agreedMembers = {
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
export const AGREED_FIELDS: readonly string[] = Object.keys(agreedMembers)

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
