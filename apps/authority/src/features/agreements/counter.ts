import { Refusal } from '@chancery/contract'
import { capabilityCounterForm, checkCounterable, draftCapabilityCounter } from '@chancery/protocol'
import type { Answer } from '@chancery/service-kit'
import type { OperatorCall } from '../../auth/operator.ts'
import type { Office } from '../../office.ts'
import { issueRecord } from '../../signing/issue.ts'
import { sealOr } from '../../signing/seal.ts'
import { vouchedKeys } from '../recognition-treaties/index.ts'
import { issueFinding } from '../trust-evidence/index.ts'
import { readCounterRequest } from './requests.ts'

/**
 * POST /admin/agreements/counter
 * Answers an offer with other terms, never with more than it holds. The authority may counter its own offer in place of
 * the responder; what follows is an agreement it issued itself.
 */
export async function counter(call: OperatorCall, office: Office): Promise<Answer> {
  const { offer, terms } = readCounterRequest(call.body)
  const { offerer_sovereign_id, responder_sovereign_id, requested_terms } = offer.record
  const verdict = await checkCounterable(offer, {
    capabilities: terms.capabilities,
    own_sovereign_id: office.genesis.network_name,
    offererKeys: (await vouchedKeys(office, offerer_sovereign_id)).keys,
    now: office.clock.now(),
  })
  if (!verdict.ok) throw new Refusal('counter_rejected', { reason: verdict.reason })
  const parties = { source: responder_sovereign_id, target: offerer_sovereign_id }
  const evidence = await issueFinding(office, parties, 'counter_rejected')
  return issueRecord(call, office, async () => {
    const agreed_terms = { ...terms, freshness_commitment: requested_terms.freshness_commitment }
    const draft = draftCapabilityCounter({ offer: offer.record, agreed_terms, evidence })
    const record = await sealOr('counter_rejected', office, capabilityCounterForm, draft)
    const { offer_id } = record
    const { capabilities } = agreed_terms
    const details = { offer_id, offerer_sovereign_id, responder_sovereign_id, capabilities }
    return { record, type: 'capability_counter_built', details }
  })
}
