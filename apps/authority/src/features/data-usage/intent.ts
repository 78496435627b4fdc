import { accessIntentForm, draftDataAccessIntent } from '@chancery/protocol'
import type { Answer } from '@chancery/service-kit'
import type { OperatorCall } from '../../auth/operator.ts'
import type { Office } from '../../office.ts'
import { issueRecord } from '../../signing/issue.ts'
import { sealOr } from '../../signing/seal.ts'
import { readIntentRequest } from './requests.ts'

/**
 * POST /admin/data-usage/intent
 * Signs, in the name of this sovereign, which sources will be used and how.
 */
export async function intent(call: OperatorCall, office: Office): Promise<Answer> {
  const request = readIntentRequest(call.body)
  const own = office.genesis.network_name
  return issueRecord(call, office, async (_tx, now) => {
    const draft = draftDataAccessIntent({
      ...request,
      intent_id: office.ids.uuid(),
      agent_sovereign_id: own,
      decision_id: request.decision_id ?? office.ids.uuid(),
      now,
    })
    // The label of the signature is the agent, here this sovereign (protocol/trust-operations 1.3).
    const record = await sealOr('intent_create_failed', office, accessIntentForm, draft, own)
    const { intent_id, decision_id } = record
    return { record, type: 'data_access_intent_created', details: { intent_id, decision_id } }
  })
}
