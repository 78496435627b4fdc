import type { Call } from '@chancery/service-kit'
import type { Core } from '../core.ts'

/**
 * Logs and counts the result of a verify route. It writes no row, because unauthenticated callers must not fill the
 * database.
 */
export function recordVerification(
  call: Call,
  parts: Pick<Core, 'log' | 'metrics'>,
  accepted: boolean,
  reason: string,
): void {
  parts.metrics.verifications.with({ route: call.routeId, accepted: accepted ? 'true' : 'false' }).increase()
  parts.log.info('verified', { route: call.routeId, request_id: call.requestId, accepted, reason })
}
