import { type Instant, writeInstant } from '../canonical/time.ts'
import type { ReadBy } from '../reading/read.ts'
import { object, string } from '../reading/shape.ts'
import { identifier, timestamp } from '../reading/text.ts'
import { signedListForm, yes } from '../reading/trust-form.ts'
import { asJson } from '../signing/forms.ts'
import { type AgreementTerms, agreementTerms } from './agreement-terms.ts'
import type { TrustEvidence } from './trust-evidence.ts'

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
