import { UsageError } from '../errors.ts'
import { type Connection, type ConnectionOptions, makeCaller, toCallerParts } from './call.ts'
import { type NodeKey, nodeIdentity } from './node-signing.ts'

export interface KeyedOptions extends ConnectionOptions {
  /** Its audience is pinned. */
  readonly node?: NodeKey
  /** Gets the clock of this machine minus that of the authority, with every response that has a time. */
  readonly onOffset?: (seconds: number) => void
}

/** A connection without an operator, for programs that know the key of their authority. */
export function openKeyed({ node, onOffset, ...options }: KeyedOptions): Connection {
  const parts = { ...toCallerParts(options), onOffset }
  const unpinned = (): Promise<string> => Promise.reject(new UsageError('the audience is not pinned'))
  return {
    call: makeCaller({ ...parts, sign: undefined }),
    clock: parts.clock,
    node: node === undefined ? undefined : nodeIdentity(node, unpinned),
    endpoints: parts.endpoints.all,
  }
}
