import { agreements } from '@chancery/contract'
import type { Connection } from '../http/call.ts'
import { type RouteApi, routeApi } from '../http/route-api.ts'

/**
 * After an unknown outcome, creating calls are repeated only with an idempotency key. `cosign`: as the offerer, adds its
 * signature to an agreement that the responder accepted; a record that it has already signed is returned unchanged.
 * `verify` states the graph apart from the signatures, unless `separate_graph` is false.
 */
export type AgreementsApi = RouteApi<typeof agreements>

export function agreementsApi(connection: Connection): AgreementsApi {
  const api = routeApi(agreements, connection)
  return {
    ...api,
    verify: (request, options) => api.verify({ ...request, separate_graph: request.separate_graph ?? true }, options),
  }
}
