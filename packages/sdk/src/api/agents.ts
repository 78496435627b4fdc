import { type AgentFilter, type AgentPage, type ListedAgent, agents } from '@chancery/contract'
import type { AgentDescriptor } from '@chancery/protocol'
import { UsageError, ResponseError } from '../errors.ts'
import type { CallOptions, Connection } from '../http/call.ts'
import { type RouteApi, routeApi } from '../http/route-api.ts'
import { type AgentCalls, agentCalls } from './agent-calls.ts'
import { type PageQuery, allRows } from './pages.ts'

/** `list` and `capabilities`: as operator, 50 rows when no limit is sent. Beta. */
export interface AgentsApi extends Omit<RouteApi<typeof agents>, keyof AgentCalls | 'search'>, AgentCalls {
  /** One page of the agents that have exactly this tag. */
  search(capability: string, page?: PageQuery, options?: CallOptions): Promise<AgentPage>
  /**
   * Returns all of them, page after page. An agent that registers again in between moves to the front and may be
   * missed; no agent is returned twice.
   */
  searchAll(
    capability: string,
    page?: { readonly limit?: number },
    options?: CallOptions,
  ): AsyncGenerator<AgentDescriptor, void, undefined>
  /** Returns the number of registered agents. Public. */
  count(options?: CallOptions): Promise<number>
  /** Returns all that `list` returns, page after page. Beta. */
  all(
    query?: AgentFilter & { readonly limit?: number },
    options?: CallOptions,
  ): AsyncGenerator<ListedAgent, void, undefined>
}

export function agentsApi(connection: Connection): AgentsApi {
  const api = routeApi(agents, connection)
  const search: AgentsApi['search'] = async (capability, page, options) => {
    // Without a tag the route returns only the number.
    if (capability === '') throw new UsageError('a capability is required')
    const { agents: found, ...answer } = await api.search({ capability, ...page }, options)
    if (found === undefined)
      throw new ResponseError({ status: 200, problem: 'it names no agents', requestId: undefined })
    return { ...answer, agents: found }
  }
  return {
    ...api,
    ...agentCalls(connection),
    search,
    searchAll: (capability, { limit } = {}, options) =>
      allRows(
        (bounds) => search(capability, bounds, options),
        (page) => page.agents,
        limit,
      ),
    count: async (options) => (await api.search({}, options)).count,
    all: ({ limit, ...filter } = {}, options) =>
      allRows(
        (bounds) => api.list({ ...filter, ...bounds }, options),
        (page) => page.agents,
        limit,
      ),
  }
}
