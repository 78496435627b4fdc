import { accessIntentForm, draftDataAccessIntent } from '@chancery/protocol'
import type { HttpResponse } from '@chancery/service-kit'
import type { OperatorCall } from '../../auth/operator.ts'
import type { DataUsageParts } from './parts.ts'
import { issueRecord } from '../../requests/issue-record.ts'
import { readIntentRequest } from './requests.ts'

/**
 * POST /admin/data-usage/intent
 * Signs, in the name of this sovereign, an intent to use sources.
 */
export async function intent(call: OperatorCall, parts: DataUsageParts): Promise<HttpResponse> {
  const request = readIntentRequest(call.body)
  const own = parts.network.name
  return issueRecord(call, parts, async (_tx, now) => {
    const draft = draftDataAccessIntent({
      ...request,
      intent_id: parts.ids.uuid(),
      agent_sovereign_id: own,
      decision_id: request.decision_id ?? parts.ids.uuid(),
      now,
    })
    // The label of the signature is the agent, here this sovereign (protocol/trust-operations 1.3).
    const record = await parts.signing.signFormOr('intent_create_failed', accessIntentForm, draft, own)
    const { intent_id, decision_id } = record
    return { record, type: 'data_access_intent_created', details: { intent_id, decision_id } }
  })
}
