import { consensus } from '@chancery/contract'
import type { Connection } from '../http/call.ts'
import { type RouteApi, routeApi } from '../http/route-api.ts'

/**
 * `vote`: as operator, the vote of this authority on a justification that it or another authority issued; `castVote`
 * votes without an authority. `proof`: as operator, the collected votes as one signed proof.
 */
export type ConsensusApi = RouteApi<typeof consensus>

export function consensusApi(connection: Connection): ConsensusApi {
  return routeApi(consensus, connection)
}
