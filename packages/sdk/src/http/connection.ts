import { sovereign } from '@chancery/contract'
import { type Connection, type ConnectionOptions, makeCaller, toCallerParts } from './call.ts'
import { type NodeKey, type Operator, nodeIdentity, operatorSigning } from './node-signing.ts'
import { routeApi } from './route-api.ts'

export interface ClientOptions extends ConnectionOptions {
  /** Signs admin calls. Without it only public calls work. */
  readonly operator?: Operator
  /** Proves possession of a node key: join, heartbeat, renew, and the registrations of an agent. */
  readonly node?: NodeKey
  /** Gets the clock of this machine minus that of the authority, with every response that has a time. */
  readonly onOffset?: (seconds: number) => void
}

/**
 * What `createAuthorityClient` makes its areas from. A program that needs few of them makes these itself, and loads no others:
 * `routeApi(partners, connection)` with a table of the contract. `headers` are sent with every call.
 */
export function openConnection(options: ClientOptions, headers: Readonly<Record<string, string>> = {}): Connection {
  const { operator } = options
  const { onOffset } = options
  const parts = { ...toCallerParts(options), headers: () => Promise.resolve(headers), onOffset }
  const { endpoints, clock } = parts
  const open = routeApi(sovereign, {
    call: makeCaller({ ...parts, sign: undefined }),
    clock,
    node: undefined,
    endpoints: endpoints.all,
  })
  const fetchAudience = async (): Promise<string> => (await open.metadata()).network_authority.public_key
  const sign = operator === undefined ? undefined : operatorSigning(operator, fetchAudience)
  const node = options.node === undefined ? undefined : nodeIdentity(options.node, fetchAudience)
  return { call: makeCaller({ ...parts, sign }), clock, node, endpoints: endpoints.all }
}
