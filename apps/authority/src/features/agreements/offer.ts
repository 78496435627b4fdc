import { Refusal } from '@chancery/contract'
import { capabilityOfferForm, draftCapabilityOffer, instantOf, writeSortable } from '@chancery/protocol'
import type { HttpResponse } from '@chancery/service-kit'
import type { OperatorCall } from '../../auth/operator.ts'
import type { AgreementsParts } from './parts.ts'
import { issueRecord } from '../../requests/issue-record.ts'
import { readOfferRequest } from './requests.ts'
import { insertOfferMaker } from './queries.ts'

/**
 * POST /admin/agreements/offer
 * Offers capabilities to another sovereign. The offer is signed whatever the trust verdict is. It records the verdict
 * for the party that counters or accepts.
 */
export async function offer(call: OperatorCall, parts: AgreementsParts): Promise<HttpResponse> {
  const { terms, ...request } = readOfferRequest(call.body)
  const own = parts.network.name
  const { responder_sovereign_id } = request
  // The two parties must differ. Otherwise one party signs for both.
  if (responder_sovereign_id === own) throw new Refusal('offer_rejected', { field: 'responder_sovereign_id' })
  const parties = { source: own, target: responder_sovereign_id }
  const evidence = await parts.trustEvidence.issueFinding(parties, 'offer_rejected')
  return issueRecord(call, parts, async (tx, now) => {
    const requested_terms = { ...terms, freshness_commitment: 0 }
    const draft = draftCapabilityOffer({ ...request, offer_id: parts.ids.uuid(), requested_terms, evidence, now })
    const record = await parts.signing.signFormOr('offer_rejected', capabilityOfferForm, draft)
    const { offer_id, offerer_sovereign_id } = record
    await insertOfferMaker(tx, {
      offer_id,
      operator_public_key: call.operator.publicKey,
      expires_at: writeSortable(instantOf(record.expires_at)),
    })
    const { capabilities } = requested_terms
    const details = { offer_id, offerer_sovereign_id, responder_sovereign_id, capabilities }
    return { record, type: 'capability_offer_built', details }
  })
}
