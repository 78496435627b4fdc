import { LIMITS, agents } from '@chancery/contract'
import {
  FormError,
  draftAgentDescriptor,
  readAgentDescriptor,
  seconds,
  shape,
  signAgentDelete,
  signList,
  writeInstant,
} from '@chancery/protocol'
import type { AgentDescriptor, Instant, JsonObject, Signer } from '@chancery/protocol'
import { json } from '../http/read-response.ts'
import type { CallOptions, Connection } from '../http/call.ts'
import { RequestError } from '../errors.ts'
import { requireNode } from '../http/node-signing.ts'
import { type AgentListApi, agentListApi } from './agent-list.ts'
import { type PageQuery, type Paging, paging } from './page.ts'
import { allRows } from './pages.ts'

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

export interface AgentPage extends Paging {
  readonly count: number
  readonly capability: string
  /** Newest first. Check each with protocol's verifyAgentDescriptor before calling it. */
  readonly agents: readonly AgentDescriptor[]
}

export interface AgentsApi extends AgentListApi {
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
  find(nodePublicKey: string, options?: CallOptions): Promise<AgentDescriptor>
  /** Removes the agent of this node from the registry. */
  remove(options?: CallOptions): Promise<void>
}

const word = shape.required(shape.string)
const whole = shape.required(shape.integer(0, Number.MAX_SAFE_INTEGER))

const readRegistered = shape.open({ status: word, expires_at: word })
const readCount = shape.open({ count: whole })
const readStatus = shape.open({ status: word })

const readPage = shape.open({
  count: whole,
  capability: word,
  agents: shape.required(
    shape.arrayOf((value): AgentDescriptor => readAgentDescriptor(value), { max: LIMITS.listPageRows }),
  ),
  ...paging,
})

export function agentsApi(connection: Connection): AgentsApi {
  const { call, node } = connection
  const search: AgentsApi['search'] = async (capability, { limit, offset, cursor } = {}, options) => {
    // Without a tag the route returns only the number.
    if (capability === '') throw new RequestError('a capability is required')
    return call({
      route: agents.search,
      query: { capability, limit, offset, cursor },
      read: json((value) => readPage(value, '')),
      options,
    })
  }
  return {
    ...agentListApi(connection),
    register: async (facts, options) => {
      const { signer } = requireNode(node, 'register')
      let descriptor: AgentDescriptor | undefined
      return call({
        route: agents.register,
        body: async (now) => (descriptor = await signDescriptor(facts, signer, now)),
        repeatable: true,
        read: json((value) => {
          const { expires_at } = readRegistered(value, '')
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
    count: async (options) =>
      (await call({ route: agents.search, read: json((value) => readCount(value, '')), options })).count,
    find: (nodePublicKey, options) =>
      call({
        route: agents.find,
        params: { node_public_key: nodePublicKey },
        read: json(readAgentDescriptor),
        options,
      }),
    remove: async (options) => {
      const { signer } = requireNode(node, 'remove')
      await call({
        route: agents.remove,
        params: { node_public_key: signer.publicKey },
        body: (now) => signAgentDelete(writeInstant(now), signer),
        read: json((value) => readStatus(value, '')),
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
    if (error instanceof FormError) throw new RequestError(error.message, { cause: error })
    throw error
  }
}
