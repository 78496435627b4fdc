import { type NodeFilter, type NodeSummary, roster } from '@chancery/contract'
import type { CallOptions, Connection } from '../http/call.ts'
import { type RouteApi, routeApi } from '../http/route-api.ts'
import { allRows } from './pages.ts'

/** As operator. A node is named by its public key in base64. */
export interface RosterApi extends RouteApi<typeof roster> {
  /** Returns all nodes, page after page. */
  all(
    query?: NodeFilter & { readonly limit?: number },
    options?: CallOptions,
  ): AsyncGenerator<NodeSummary, void, undefined>
}

/** As the path has it: base64url without padding. */
function toPathKey(key: string): string {
  return key.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
}

export function rosterApi(connection: Connection): RosterApi {
  const api = routeApi(roster, connection)
  return {
    ...api,
    find: (key, options) => api.find(toPathKey(key), options),
    events: (key, query, options) => api.events(toPathKey(key), query, options),
    all: ({ limit, ...filter } = {}, options) =>
      allRows(
        (bounds) => api.list({ ...filter, ...bounds }, options),
        (page) => page.nodes,
        limit,
      ),
  }
}
