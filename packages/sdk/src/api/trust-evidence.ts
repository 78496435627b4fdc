import { trustEvidence } from '@chancery/contract'
import type { Connection } from '../http/call.ts'
import { type RouteApi, routeApi } from '../http/route-api.ts'

/** `issue`: as operator. For `verify` keys default to those of the called authority. */
export type TrustEvidenceApi = RouteApi<typeof trustEvidence>

export function trustEvidenceApi(connection: Connection): TrustEvidenceApi {
  return routeApi(trustEvidence, connection)
}
