import { history } from '@chancery/contract'
import type { Connection } from '../http/call.ts'
import { type RouteApi, routeApi } from '../http/route-api.ts'

/** Beta. As operator. Write all pages of `archive` for an archive. */
export type HistoryApi = RouteApi<typeof history>

export function historyApi(connection: Connection): HistoryApi {
  return routeApi(history, connection)
}
