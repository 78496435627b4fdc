import { Refusal } from '@chancery/contract'
import { capabilityCounterForm, checkCounterable, draftCapabilityCounter } from '@chancery/protocol'
import type { HttpResponse } from '@chancery/service-kit'
import type { OperatorCall } from '../../auth/operator.ts'
import type { AgreementsParts } from './accept.ts'
import { issueRecord } from '../../requests/issue-record.ts'
import { readCounterRequest } from './requests.ts'

/**
 * POST /admin/agreements/counter
 * Responds to an offer with other terms, never with more than it offers. The authority may counter its own offer on
 * behalf of the responder; the resulting agreement is its own.
 */
export async function counter(call: OperatorCall, parts: AgreementsParts): Promise<HttpResponse> {
  const { offer, terms } = readCounterRequest(call.body)
  const { offerer_sovereign_id, responder_sovereign_id, requested_terms } = offer.record
  const verdict = await checkCounterable(offer, {
    capabilities: terms.capabilities,
    own_sovereign_id: parts.network.name,
    offererKeys: (await parts.recognitionTreaties.findPartyKeys(offerer_sovereign_id)).keys,
    now: parts.clock.now(),
  })
  if (!verdict.ok) throw new Refusal('counter_rejected', { reason: verdict.reason })
  const parties = { source: responder_sovereign_id, target: offerer_sovereign_id }
  const evidence = await parts.trustEvidence.issueFinding(parties, 'counter_rejected')
  return issueRecord(call, parts, async () => {
    const agreed_terms = { ...terms, freshness_commitment: requested_terms.freshness_commitment }
    const draft = draftCapabilityCounter({ offer: offer.record, agreed_terms, evidence })
    const record = await parts.signing.signFormOr('counter_rejected', capabilityCounterForm, draft)
    const { offer_id } = record
    const { capabilities } = agreed_terms
    const details = { offer_id, offerer_sovereign_id, responder_sovereign_id, capabilities }
    return { record, type: 'capability_counter_built', details }
  })
}
