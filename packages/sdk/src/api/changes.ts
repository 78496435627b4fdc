import { changes } from '@chancery/contract'
import type { Connection } from '../http/call.ts'
import { type RouteApi, routeApi } from '../http/route-api.ts'

/** Beta. As operator. `current` returns what changed since the joint version of an earlier call. */
export type ChangesApi = RouteApi<typeof changes>

export function changesApi(connection: Connection): ChangesApi {
  return routeApi(changes, connection)
}
