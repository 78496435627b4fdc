import type { JsonObject } from '@chancery/protocol'
import type { OperatorCall } from '../../auth/operator.ts'
import type { Office } from '../../office.ts'
import { toWireTime } from '../../paged-list.ts'
import { listExecutorKeys } from './store.ts'

/**
 * GET /admin/evidence/executor-keys
 * Retired keys included: whoever verifies old records needs them.
 */
export async function executorKeys(_call: OperatorCall, office: Office): Promise<JsonObject> {
  const rows = await listExecutorKeys(office.store.db)
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
