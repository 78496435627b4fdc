import { audit } from '@chancery/contract'
import type { Connection } from '../http/call.ts'
import { type RouteApi, routeApi } from '../http/route-api.ts'

/** Beta. As operator. */
export type AuditApi = RouteApi<typeof audit>

export function auditApi(connection: Connection): AuditApi {
  return routeApi(audit, connection)
}
