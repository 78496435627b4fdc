import { GatewayRefusal } from '@chancery/contract'
import { json } from '@chancery/service-kit'
import type { Answer } from '@chancery/service-kit'
import type { GatewayCall } from '../../edge/call.ts'
import type { Office } from '../../office.ts'
import { checkReadiness, isReady } from './readiness.ts'

/**
 * GET /ready
 * Every list usable, state healthy, quota backend answering. A stale network denies its own certificates at once; the
 * others are still judged while this says no.
 */
export async function ready(_call: GatewayCall, office: Office): Promise<Answer> {
  const checks = await checkReadiness(office)
  if (!isReady(checks) || !office.isServing()) throw new GatewayRefusal('not_ready', { checks })
  return json({ status: 'ready' })
}
