import { LIMITS, NODE_STATES, type NodeState, agents } from '@chancery/contract'
import { type AgentDescriptor, readAgentDescriptor, shape } from '@chancery/protocol'
import { json } from '../http/read-response.ts'
import type { CallOptions, Connection } from '../http/call.ts'
import { type Paging, paging } from './page.ts'
import { allRows } from './pages.ts'

/** A registered agent and its node. */
export interface ListedAgent {
  /** Check it with protocol's verifyAgentDescriptor before calling the agent. */
  readonly descriptor: AgentDescriptor
  readonly node_label: string | null
  readonly node_state: NodeState | null
}

export interface AgentFilter {
  /** Begins the agent id, the host or a capability; upper and lower case differ. */
  readonly q?: string
  /** Compared exactly. */
  readonly capability?: string
  /** Of the endpoint, compared exactly. */
  readonly host?: string
  /** In base64. */
  readonly node_public_key?: string
  /** State of the node. */
  readonly state?: NodeState
  /** Only registrations that end before this time; the soonest first when no other filter is sent. */
  readonly expires_before?: string
}

export interface ListedAgentPage extends Paging {
  readonly count: number
  /** Newest first without a filter. A page with filters may have fewer rows than the limit although there are more. */
  readonly agents: readonly ListedAgent[]
}

export interface CapabilityCount {
  readonly capability: string
  readonly agents: number
}

export interface CapabilityPage extends Paging {
  readonly count: number
  readonly capabilities: readonly CapabilityCount[]
}

export interface AgentListApi {
  /** Beta. As operator: one page of agents, 50 rows when no limit is sent. */
  page(
    query?: AgentFilter & { readonly limit?: number; readonly cursor?: string },
    options?: CallOptions,
  ): Promise<ListedAgentPage>
  /** Beta. Returns all of them, page after page. */
  list(
    query?: AgentFilter & { readonly limit?: number },
    options?: CallOptions,
  ): AsyncGenerator<ListedAgent, void, undefined>
  /** Beta. As operator: one page of capabilities with their number of agents. With `q` those that begin with it, by name. */
  capabilities(
    query?: { readonly q?: string; readonly limit?: number; readonly cursor?: string },
    options?: CallOptions,
  ): Promise<CapabilityPage>
}

const word = shape.required(shape.string)
const whole = shape.required(shape.integer(0, Number.MAX_SAFE_INTEGER))

const readAgent = shape.open({
  descriptor: shape.required((value): AgentDescriptor => readAgentDescriptor(value)),
  node_label: shape.required(shape.nullable(shape.string)),
  node_state: shape.required(shape.nullable(shape.oneOf(...NODE_STATES))),
})

const readAgentPage = shape.open({
  count: whole,
  agents: shape.required(shape.arrayOf(readAgent, { max: LIMITS.listPageRows })),
  ...paging,
})

const readCapabilityPage = shape.open({
  count: whole,
  capabilities: shape.required(
    shape.arrayOf(shape.open({ capability: word, agents: whole }), { max: LIMITS.listPageRows }),
  ),
  ...paging,
})

export function agentListApi({ call }: Pick<Connection, 'call'>): AgentListApi {
  const page: AgentListApi['page'] = (query = {}, options) =>
    call({ route: agents.list, query: { ...query }, read: json((value) => readAgentPage(value, '')), options })
  return {
    page,
    list: ({ limit, ...filter } = {}, options) =>
      allRows(
        (bounds) => page({ ...filter, ...bounds }, options),
        (each) => each.agents,
        limit,
      ),
    capabilities: (query = {}, options) =>
      call({
        route: agents.capabilities,
        query: { ...query },
        read: json((value) => readCapabilityPage(value, '')),
        options,
      }),
  }
}
