import type { JsonObject } from '@chancery/protocol'
import type { OperatorCall } from '../../auth/operator.ts'
import type { EvidenceParts } from './store-verifier.ts'
import { toWireTime } from '../../requests/list-position.ts'
import { listExecutorKeys } from './queries/entries.ts'

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
