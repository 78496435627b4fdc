import { signNodeProof, writeInstant } from '@chancery/protocol'
import type { Instant, JsonObject, NodeAction, Signer } from '@chancery/protocol'
import { type Audience, audienceOf } from './audience.ts'
import { RequestError } from '../errors.ts'

/** Who proves possession of a node key, and to which authority. The key id of the signer plays no part. */
export type NodeKey = Audience & { readonly signer: Signer }

/** A node as the areas use it. */
export interface NodeIdentity {
  readonly signer: Signer
  /**
   * A body with its proof (protocol/core 5.1). Authority and action are always named: without them a captured proof
   * could serve elsewhere. Timestamp and nonce are new with every call, so no attempt looks like a replay.
   */
  prove(action: NodeAction, members: JsonObject, now: Instant): Promise<JsonObject>
}

export function nodeIdentity({ signer, ...rest }: NodeKey, fetchAudience: () => Promise<string>): NodeIdentity {
  const audience = audienceOf(rest, 'node', fetchAudience)
  return {
    signer,
    prove: async (action, members, now) =>
      signNodeProof(
        {
          ...members,
          node_public_key: signer.publicKey,
          audience: await audience(),
          action,
          timestamp: writeInstant(now),
          nonce: crypto.randomUUID(),
        },
        signer,
      ),
  }
}

/** The node of a client, for calls only a node can make. */
export function requireNode(node: NodeIdentity | undefined, what: string): NodeIdentity {
  if (node === undefined) throw new RequestError(`${what} needs a node key: createClient({ node })`)
  return node
}
