import { LIMITS, agents } from '@chancery/contract'
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
import { UsageError } from '../errors.ts'
import type { CallOptions, Connection } from '../http/call.ts'
import { requireNode } from '../http/node-signing.ts'
import { json } from '../http/read-response.ts'

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

/** Calls of the node whose agent it is. */
export interface AgentCalls {
  /** Registers the agent of this node or refreshes its registration; every attempt signs a new descriptor. */
  register(facts: AgentFacts, options?: CallOptions): Promise<AgentRegistration>
  /** Removes the agent of this node from the registry. */
  remove(options?: CallOptions): Promise<void>
}

export function agentCalls({ call, node }: Connection): AgentCalls {
  return {
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
