import { readPublicKey, signNodeProof, signOperatorRequest, writeInstant } from '@chancery/protocol'
import type { Instant, JsonObject, NodeAction, OperatorHeaders, Signer } from '@chancery/protocol'
import { UsageError } from '../errors.ts'
import type { Target } from './url.ts'

/**
 * For which authority signatures are made: its public key, as its genesis block names it in
 * network_authority.public_key. Pin it; a function is asked for every call, for callers that follow a key succession. With `trustFirstAudience` it is read once from /sovereign.json instead, over
 * the same channel as the calls: a server there could name another authority and forward the signed calls.
 */
export type Audience =
  | { readonly audience: string | (() => string); readonly trustFirstAudience?: undefined }
  | { readonly trustFirstAudience: true; readonly audience?: undefined }

/** Gives the audience of a caller; one that is fetched is fetched once. */
function audienceOf(
  caller: Audience,
  who: 'operator' | 'node',
  fetchAudience: () => Promise<string>,
): () => Promise<string> {
  const { audience } = caller
  if (typeof audience === 'function') return () => Promise.resolve(audience())
  if (audience !== undefined) {
    if (readPublicKey(audience) === undefined)
      throw new UsageError('the audience is the public key of the authority in base64')
    return () => Promise.resolve(audience)
  }
  // Checked at run time too: callers in plain JavaScript do not see the type.
  if (!caller.trustFirstAudience) {
    throw new UsageError(`pin the audience of the ${who}, or accept the first one with trustFirstAudience: true`)
  }
  let fetched: Promise<string> | undefined
  return () => {
    fetched ??= fetchAudience().catch((error: unknown) => {
      // A failure is not cached: the next call asks again.
      fetched = undefined
      throw error
    })
    return fetched
  }
}

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
  if (node === undefined) throw new UsageError(`${what} needs a node key: createAuthorityClient({ node })`)
  return node
}

/** Who signs admin calls, and for which authority. */
export type Operator = Audience & { readonly signer: Signer }

export type OperatorSign = (method: string, target: Target, body: JsonObject, now: Instant) => Promise<OperatorHeaders>

/** Signs calls of this operator; every call gets its own timestamp and nonce. */
export function operatorSigning(operator: Operator, fetchAudience: () => Promise<string>): OperatorSign {
  const audience = audienceOf(operator, 'operator', fetchAudience)
  return async (method, { path, query }, body, now) =>
    signOperatorRequest(
      {
        method,
        path,
        query,
        audience: await audience(),
        body,
        timestamp: writeInstant(now),
        nonce: crypto.randomUUID(),
      },
      operator.signer,
    )
}
