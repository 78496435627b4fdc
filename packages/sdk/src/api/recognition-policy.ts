import { recognitionPolicy } from '@chancery/contract'
import type { Connection } from '../http/call.ts'
import { type RouteApi, routeApi } from '../http/route-api.ts'

/** `publish`: as operator. It becomes the only active policy. */
export type RecognitionPolicyApi = RouteApi<typeof recognitionPolicy>

export function recognitionPolicyApi(connection: Connection): RecognitionPolicyApi {
  return routeApi(recognitionPolicy, connection)
}
