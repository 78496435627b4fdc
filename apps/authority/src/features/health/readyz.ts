import { Refusal } from '@chancery/contract'
import type { JsonObject } from '@chancery/protocol'
import type { Call } from '@chancery/service-kit'
import type { Office } from '../../office.ts'

/**
 * GET /readyz
 * Whether this instance may be sent requests; the checks are the same in the answer and in the refusal.
 */
export async function readyz(_call: Call, office: Office): Promise<JsonObject> {
  const { isReady, checks } = await office.readiness.read()
  if (!isReady) throw new Refusal('service_not_ready', checks)
  return { status: 'ready', ...checks, db_path: office.store.place }
}
