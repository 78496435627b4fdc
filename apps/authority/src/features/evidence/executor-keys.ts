import { Refusal } from '@chancery/contract'
import { type JsonObject, isPlainText, readPublicKey, writeSortable } from '@chancery/protocol'
import { requestDetails } from '../../audit/record.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import type { EvidenceParts } from './store-verifier.ts'
import { toWireTime } from '../../requests/list-position.ts'
import { areStrongKeys } from '../../requests/read-fields.ts'
import { insertExecutorKey, listExecutorKeys, markExecutorKeyRetired } from './queries/entries.ts'
import { findExecutorKeys } from './queries/lookups.ts'

/**
 * POST /admin/evidence/executor-keys
 * Permits a key to sign execution evidence for one executor. An id names one key permanently, because it is used to
 * verify old records.
 */
export async function registerKey(call: OperatorCall, parts: EvidenceParts): Promise<JsonObject> {
  const [key_id, public_key, executor_sovereign_id] = ['key_id', 'public_key', 'executor_sovereign_id'].map((name) => {
    const value = call.body[name]
    if (typeof value !== 'string' || value === '') throw new Refusal('missing_executor_key_fields', { field: name })
    return value
  }) as [string, string, string]
  if (!isPlainText(key_id, 128)) throw new Refusal('missing_executor_key_fields', { field: 'key_id' })
  if (!isPlainText(executor_sovereign_id, 128))
    throw new Refusal('missing_executor_key_fields', { field: 'executor_sovereign_id' })
  if (readPublicKey(public_key) === undefined || !(await areStrongKeys([public_key])))
    throw new Refusal('invalid_public_key')
  return parts.database.write(async (tx) => {
    const registered_at = writeSortable(parts.clock.now())
    if (!(await insertExecutorKey(tx, { key_id, public_key, executor_sovereign_id, registered_at })))
      throw new Refusal('executor_key_exists')
    const details = { executor_key_id: key_id, executor_sovereign_id, ...requestDetails(call) }
    await parts.audit.record(tx, { type: 'executor_key_registered', details })
    return { key_id, executor_sovereign_id, active: true }
  })
}

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

/**
 * GET /admin/evidence/executor-keys
 * Returns all keys, also retired ones, which are needed to verify old records.
 */
export async function executorKeys(_call: OperatorCall, parts: EvidenceParts): Promise<JsonObject> {
  const rows = await listExecutorKeys(parts.database.read)
  return {
    executor_keys: rows.map(({ key_id, public_key, executor_sovereign_id, registered_at, retired_at }) => ({
      key_id,
      public_key,
      executor_sovereign_id,
      registered_at: toWireTime(registered_at),
      retired_at: toWireTime(retired_at),
    })),
  }
}
