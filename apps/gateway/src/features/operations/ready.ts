import { GatewayRefusal } from '@chancery/contract'
import { json } from '@chancery/service-kit'
import type { Answer } from '@chancery/service-kit'
import type { GatewayCall } from '../../edge/call.ts'
import type { Office } from '../../office.ts'
import { isReady, listReasons, watchReadiness } from './readiness.ts'

/**
 * GET /ready
 * Every list usable, state healthy, quota backend answering. A stale network denies its own certificates at once; the
 * others are still judged while this says no. A newer list that cannot be read is named before it makes this say no.
 */
export async function ready(_call: GatewayCall, office: Office): Promise<Answer> {
  const checks = await watchReadiness(office)
  const reasons = listReasons(office)
  if (!isReady(checks) || !office.isServing())
    throw new GatewayRefusal('not_ready', reasons.length === 0 ? { checks } : { checks, reasons })
  return json(reasons.length === 0 ? { status: 'ready' } : { status: 'ready', warnings: reasons })
}
