import { Refusal } from '@chancery/contract'
import { jsonText } from '@chancery/service-kit'
import type { Answer } from '@chancery/service-kit'
import { causedBy, recordAudit } from '../../audit/record.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import type { Office } from '../../office.ts'
import { readRollbackRequest } from './requests.ts'
import { findActivePolicy, findPolicy } from './store.ts'
import { activateStored, verifyStored } from './versions.ts'

/**
 * POST /admin/policy/rollback
 * Brings a stored version back into force, unchanged; repeating it changes nothing.
 */
export async function rollback(call: OperatorCall, office: Office): Promise<Answer> {
  const policy_id = readRollbackRequest(call.body)
  return office.store.transact(async (tx) => {
    await office.store.lockHead(tx, 'policy')
    const stored = await findPolicy(tx, policy_id)
    if (stored === undefined) throw new Refusal('policy_not_found')
    await verifyStored(office, stored)
    if (stored.active === 1) return jsonText(stored.policy_json)
    const previous = await findActivePolicy(tx)
    const text = await activateStored(tx, stored)
    const details = { policy_id, previous_policy_id: previous?.policy_id ?? null, ...causedBy(call) }
    await recordAudit(tx, office, { type: 'policy_rolled_back', details })
    return jsonText(text)
  })
}
