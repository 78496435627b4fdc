import { partners } from '@chancery/contract'
import type { Connection } from '../http/call.ts'
import { routeApi } from '../http/route-api.ts'
import type { RouteApi } from '../http/route-api.ts'

/** As operator. After an unknown outcome `add` is repeated only with an idempotency key. */
export type PartnersApi = RouteApi<typeof partners>

export function partnersApi(connection: Connection): PartnersApi {
  return routeApi(partners, connection)
}
