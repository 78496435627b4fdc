import { GatewayRefusal } from '@chancery/contract'
import { type HttpResponse, json } from '@chancery/service-kit'
import type { OperationsParts } from './parts.ts'
import { isReady, listReasons, observeReadiness, warningsOf } from './readiness.ts'

/**
 * GET /ready
 * Returns 200 when the list of the home network is usable, the state is healthy, the quota backend responds and, in a
 * worker, the supervisor does. A network with a stale list refuses its own certificates at once, and is a warning here;
 * other networks are still verified, also while this route returns 503. A newer list that cannot be read is reported
 * before it makes the gateway not ready.
 */
export async function ready(parts: OperationsParts): Promise<HttpResponse> {
  const checks = await observeReadiness(parts)
  const reasons = listReasons(parts)
  if (!isReady(checks) || !parts.isServing())
    throw new GatewayRefusal('not_ready', reasons.length === 0 ? { checks } : { checks, reasons })
  const warnings = warningsOf(parts)
  return json(warnings.length === 0 ? { status: 'ready' } : { status: 'ready', warnings })
}
