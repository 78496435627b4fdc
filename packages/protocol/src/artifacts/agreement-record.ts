import { type Instant, writeInstant } from '../canonical/time.ts'
import type { ReadBy } from '../reading/read.ts'
import { identifier, timestamp } from '../reading/text.ts'
import { signedListForm, unsigned } from '../reading/trust-form.ts'
import { asJson } from '../signing/forms.ts'
import type { Signature } from '../signing/sign.ts'
import { AGREED_FIELDS, type AgreedBody, type CapabilityCounter, agreedMembers } from './capability-counter.ts'
import type { CapabilityOffer } from './capability-offer.ts'
import type { TrustEvidence } from './trust-evidence.ts'

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
