import { operatorKeys } from '@chancery/contract'
import type { Connection } from '../http/call.ts'
import { type RouteApi, routeApi } from '../http/route-api.ts'

/** As operator. A revocation is permanent, and in force from the next request on; a repeat changes nothing. */
export type OperatorKeysApi = RouteApi<typeof operatorKeys>

export function operatorKeysApi(connection: Connection): OperatorKeysApi {
  return routeApi(operatorKeys, connection)
}
