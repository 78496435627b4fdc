import { GatewayRefusal } from '@chancery/contract'
import { json } from '@chancery/service-kit'
import type { HttpResponse } from '@chancery/service-kit'
import type { OperationsParts } from './parts.ts'
import { isReady, listReasons, observeReadiness } from './readiness.ts'

/**
 * GET /ready
 * Returns 200 when every list is usable, the state is healthy and the quota backend responds. A network with a stale
 * list refuses its own certificates at once; other networks are still verified while this route returns 503. A newer
 * list that cannot be read is reported before it makes the gateway not ready.
 */
export async function ready(parts: OperationsParts): Promise<HttpResponse> {
  const checks = await observeReadiness(parts)
  const reasons = listReasons(parts)
  if (!isReady(checks) || !parts.isServing())
    throw new GatewayRefusal('not_ready', reasons.length === 0 ? { checks } : { checks, reasons })
  return json(reasons.length === 0 ? { status: 'ready' } : { status: 'ready', warnings: reasons })
}
