import { findings } from '@chancery/contract'
import type { Connection } from '../http/call.ts'
import { type RouteApi, routeApi } from '../http/route-api.ts'

/** Beta. As operator. */
export type FindingsApi = RouteApi<typeof findings>

export function findingsApi(connection: Connection): FindingsApi {
  return routeApi(findings, connection)
}
