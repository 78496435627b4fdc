import type { Call } from '@chancery/service-kit'
import type { Office } from '../office.ts'

/** A verify route's answer leaves a log line and a number, never a row: strangers must not fill the database. */
export function noteVerdict(call: Call, office: Office, accepted: boolean, reason: string): void {
  office.metrics.verifications.with({ route: call.routeId, accepted: accepted ? 'true' : 'false' }).increase()
  office.log.info('verified', { route: call.routeId, request_id: call.requestId, accepted, reason })
}
