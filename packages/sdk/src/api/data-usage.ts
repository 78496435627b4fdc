import { dataUsage } from '@chancery/contract'
import type { Connection } from '../http/call.ts'
import { type RouteApi, routeApi } from '../http/route-api.ts'

/**
 * `publish` and `intent`: as operator, for this network; `publish` replaces the policy in force for the same licensee.
 * `current` returns the policy in force for a licensee, or without a filter the newest, as signed: verify its signature
 * with the key you trust. `record`: as operator, the same check as `verify`; violations are stored as one entry of the
 * evidence store. Beta.
 */
export type DataUsageApi = RouteApi<typeof dataUsage>

export function dataUsageApi(connection: Connection): DataUsageApi {
  return routeApi(dataUsage, connection)
}
