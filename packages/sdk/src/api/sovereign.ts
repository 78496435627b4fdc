import { sovereign } from '@chancery/contract'
import type { Connection } from '../http/call.ts'
import { type RouteApi, routeApi } from '../http/route-api.ts'

/**
 * Documents as served. Check a block with protocol's verifyGenesisBlock and against the root key you trust, former keys
 * with verifyKeyHistory, and a succession with verifySuccession against your stored block.
 */
export type SovereignApi = RouteApi<typeof sovereign>

export function sovereignApi(connection: Connection): SovereignApi {
  return routeApi(sovereign, connection)
}
