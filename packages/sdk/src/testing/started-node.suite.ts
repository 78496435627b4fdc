import type { Crl, PolicyManifest } from '@chancery/protocol'
import { type Client, toAreas } from '../client.ts'
import { openConnection } from '../http/connection.ts'
import type { NodeEnd, NodeEvent } from '../node/events.ts'
import { type NetworkNode, openNode } from '../node/join-network.ts'
import type { JoinOptions, NodeParts, RunOptions } from '../node/options.ts'

export type StartOptions = JoinOptions & NodeParts & Omit<RunOptions, 'onEvent' | 'signal'>

/** The event of a type, also where one member of the union has several. */
type EventOf<Type extends NodeEvent['type']> = NodeEvent extends infer Event
  ? Event extends { readonly type: infer Own }
    ? Type extends Own
      ? Event
      : never
    : never
  : never

type Listener<Type extends NodeEvent['type']> = (event: EventOf<Type>) => void

/** A node that runs, with listeners that a test adds one by one, and what its events said last. */
export interface StartedNode extends NetworkNode {
  readonly client: Client
  readonly crl: Crl | undefined
  readonly policy: PolicyManifest | undefined
  readonly ended: Promise<NodeEnd>
  on<Type extends NodeEvent['type']>(type: Type, listener: Listener<Type>): void
}

/** Joins, then runs from the next turn on, so that listeners which are added at once get every event. */
export async function startNode(options: StartOptions): Promise<StartedNode> {
  const { agent, status, followRevocations } = options
  const node = await openNode(options)
  const listeners: { readonly type: string; readonly listener: (event: never) => void }[] = []
  let [crl, policy]: [Crl | undefined, PolicyManifest | undefined] = [undefined, undefined]
  const onEvent = (event: NodeEvent): void => {
    if (event.type === 'revocations') crl = event.list
    if (event.type === 'policy') policy = event.policy
    for (const { type, listener } of listeners) if (type === event.type) listener(event as never)
  }
  const given = {
    ...(agent === undefined ? {} : { agent }),
    ...(status === undefined ? {} : { status }),
    ...(followRevocations === undefined ? {} : { followRevocations }),
  }
  const ended = new Promise<void>((resolve) => setTimeout(resolve, 0)).then(() => node.run({ ...given, onEvent }))
  const signer = await options.store.signer()
  const audience = node.keys.genesis
  const key = typeof audience === 'string' ? '' : audience.network_authority.public_key
  const client = toAreas(openConnection({ ...options, node: { signer, audience: key } }))
  return new Proxy(node, {
    get: (target, name) => {
      if (name === 'client') return client
      if (name === 'crl') return crl
      if (name === 'policy') return policy
      if (name === 'ended') return ended
      if (name === 'on') return (type: string, listener: (event: never) => void) => listeners.push({ type, listener })
      const value: unknown = Reflect.get(target, name, target)
      if (name === 'stop') return async () => void (await target.stop(), await ended)
      return typeof value === 'function' ? (value as () => unknown).bind(target) : value
    },
  }) as StartedNode
}
