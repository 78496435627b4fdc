import { Refusal } from '@chancery/contract'
import { type JsonObject, writeSortable } from '@chancery/protocol'
import { requestDetails } from '../../audit/record.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import type { EvidenceParts } from './parts.ts'
import { findExecutorKeys } from './queries/lookups.ts'
import { markExecutorKeyRetired } from './queries/entries.ts'

/**
 * POST /admin/evidence/executor-keys/{key_id}/retire
 * Ends new records under a key. Earlier records stay verifiable.
 */
export async function retireKey(call: OperatorCall, parts: EvidenceParts): Promise<JsonObject> {
  const key_id = call.params['key_id'] ?? ''
  return parts.database.write(async (tx) => {
    const executor_sovereign_id = await markExecutorKeyRetired(tx, key_id, writeSortable(parts.clock.now()))
    if (executor_sovereign_id === undefined) {
      const [known] = await findExecutorKeys(parts.database, tx.query, [key_id])
      throw new Refusal(known === undefined ? 'executor_key_not_found' : 'executor_key_retired')
    }
    // A kind of revocation: the high-water mark must detect a backup that lacks it.
    await tx.raiseVersion('evidence-anchors')
    const details = { executor_key_id: key_id, executor_sovereign_id, ...requestDetails(call) }
    await parts.audit.record(tx, { type: 'executor_key_retired', details })
    return { key_id, active: false }
  })
}
