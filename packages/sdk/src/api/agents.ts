import { type AgentFilter, type AgentPage, LIMITS, type ListedAgent, agents } from '@chancery/contract'
import {
  type AgentDescriptor,
  FormError,
  type Instant,
  type JsonObject,
  type Signer,
  draftAgentDescriptor,
  seconds,
  signAgentDelete,
  signList,
  writeInstant,
} from '@chancery/protocol'
import { UsageError, ResponseError } from '../errors.ts'
import type { CallOptions, Connection } from '../http/call.ts'
import { requireNode } from '../http/node-signing.ts'
import { json } from '../http/read-response.ts'
import { type RouteApi, routeApi } from '../http/route-api.ts'
import { type PageQuery, allRows } from './pages.ts'

/** Fields of an agent; key, times and signature are added. */
export interface AgentFacts {
  readonly agent_id: string
  readonly network_name: string
  readonly capabilities: readonly string[]
  readonly endpoint: { readonly host: string; readonly port: number; readonly scheme?: string }
  readonly metadata?: JsonObject
  /** 600 when not given. Register again after half of it. */
  readonly lifetimeSeconds?: number
}

export interface AgentRegistration {
  readonly expires_at: string
  /** The signed descriptor. */
  readonly descriptor: AgentDescriptor
}

/** `list` and `capabilities`: as operator, 50 rows when no limit is sent. Beta. */
export interface AgentsApi extends Omit<RouteApi<typeof agents>, 'register' | 'search' | 'remove'> {
  /** Registers the agent of this node or refreshes its registration; every attempt signs a new descriptor. */
  register(facts: AgentFacts, options?: CallOptions): Promise<AgentRegistration>
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
  /** Removes the agent of this node from the registry. */
  remove(options?: CallOptions): Promise<void>
}

export function agentsApi(connection: Connection): AgentsApi {
  const { call, node } = connection
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
    register: async (facts, options) => {
      const { signer } = requireNode(node, 'register')
      let descriptor: AgentDescriptor | undefined
      return call({
        route: agents.register,
        body: async (now) => (descriptor = await signDescriptor(facts, signer, now)),
        repeatable: true,
        read: json((value) => {
          const { expires_at } = agents.register.answer(value, '')
          if (descriptor === undefined) throw new Error('an answer without a request')
          return { expires_at, descriptor }
        }),
        options,
      })
    },
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
    remove: async (options) => {
      const { signer } = requireNode(node, 'remove')
      await call({
        route: agents.remove,
        params: { node_public_key: signer.publicKey },
        body: (now) => signAgentDelete(writeInstant(now), signer),
        read: json((value) => agents.remove.answer(value, '')),
        options,
      })
    },
  }
}

/** The signature is labelled with the node key, as verifiers expect (protocol/core 13.1). */
async function signDescriptor(facts: AgentFacts, signer: Signer, now: Instant): Promise<AgentDescriptor> {
  const { lifetimeSeconds = LIMITS.agentLifetimeUsualSeconds, ...said } = facts
  const { publicKey } = signer
  const draft = readFacts(() =>
    draftAgentDescriptor({
      ...said,
      node_public_key: publicKey,
      registered_at: writeInstant(now),
      expires_at: writeInstant(now + seconds(lifetimeSeconds)),
    }),
  )
  return signList(draft, { keyId: publicKey, publicKey, sign: (message) => signer.sign(message) })
}

/** Checked here with the messages of the schema; the authority would only name the member. */
function readFacts(draft: () => AgentDescriptor): AgentDescriptor {
  try {
    return draft()
  } catch (error) {
    if (error instanceof FormError) throw new UsageError(error.message, { cause: error })
    throw error
  }
}
