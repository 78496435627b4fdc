import { Refusal } from '@chancery/contract'
import { writeSortable } from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import { causedBy, recordAudit } from '../../audit/record.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import type { Office } from '../../office.ts'
import { bumpHead } from '../../store/heads.ts'
import { findExecutorKeys } from './lookups.ts'
import { markExecutorKeyRetired } from './store.ts'

/**
 * POST /admin/evidence/executor-keys/{key_id}/retire
 * Ends new records under a key; what it signed before stays verifiable.
 */
export async function retireKey(call: OperatorCall, office: Office): Promise<JsonObject> {
  const key_id = call.params['key_id'] ?? ''
  return office.store.transact(async (tx) => {
    const executor_sovereign_id = await markExecutorKeyRetired(tx, key_id, writeSortable(office.clock.now()))
    if (executor_sovereign_id === undefined) {
      const [known] = await findExecutorKeys(office.store, tx, [key_id])
      throw new Refusal(known === undefined ? 'executor_key_not_found' : 'executor_key_retired')
    }
    // A withdrawal: the high-water mark must notice a backup that has forgotten it.
    await bumpHead(tx, 'evidence-anchors')
    const details = { executor_key_id: key_id, executor_sovereign_id, ...causedBy(call) }
    await recordAudit(tx, office, { type: 'executor_key_retired', details })
    return { key_id, active: false }
  })
}
