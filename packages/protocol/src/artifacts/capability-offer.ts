import type { JsonObject } from '../canonical/json-value.ts'
import { type Instant, writeInstant } from '../canonical/time.ts'
import { object, string } from '../reading/shape.ts'
import { identifier, timestamp } from '../reading/text.ts'
import { type RecordForm, signedListForm, yes } from '../reading/trust-form.ts'
import { asJson } from '../signing/forms.ts'
import type { Signature } from '../signing/sign.ts'
import { type AgreementTerms, agreementTerms } from './agreement-terms.ts'
import type { TrustEvidence } from './trust-evidence.ts'

/** Capabilities one sovereign offers another (protocol/trust-operations 3.2). */
export type CapabilityOffer = {
  readonly offer_id: string
  readonly offerer_sovereign_id: string
  readonly responder_sovereign_id: string
  readonly requested_terms: AgreementTerms
  readonly graph_digest: string
  /** Complete trust evidence about the responder, with its signatures. */
  readonly offerer_evidence: JsonObject
  /** Last moment of acceptance. */
  readonly expires_at: string
  readonly created_at: string
  readonly signatures: readonly Signature[]
}

export const capabilityOfferForm: RecordForm<CapabilityOffer> = signedListForm({
  offer_id: yes(identifier),
  offerer_sovereign_id: yes(identifier),
  responder_sovereign_id: yes(identifier),
  requested_terms: yes(agreementTerms),
  graph_digest: yes(string),
  offerer_evidence: yes(object, {}),
  expires_at: yes(timestamp),
  created_at: yes(timestamp),
})

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
