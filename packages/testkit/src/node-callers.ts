import { randomUUID } from 'node:crypto'
import { signNodeProof, writeInstant } from '@chancery/protocol'
import type { Instant, JoinCertificate, JsonObject, JsonValue, Signer } from '@chancery/protocol'
import { type SendOptions, type TestResponse, send } from './callers.ts'
import { accepted } from './expect.ts'
import { testSigner } from './keys.ts'

/** What a test may get wrong on purpose. */
export interface ProofOptions extends Pick<SendOptions, 'headers' | 'from'> {
  /** Signs instead of the node's own key. */
  readonly signer?: Signer
  /** Applied after signing. */
  readonly edit?: (body: Record<string, JsonValue>) => void
}

/** A node with its key: proves possession of it the way protocol/core 5.1 asks for. */
export interface NodeCaller {
  readonly key: string
  readonly signer: Signer
  /** The members with timestamp and nonce unless they are among them, signed. */
  prove(members: JsonObject, options?: ProofOptions): Promise<JsonObject>
  post(target: string, members: JsonObject, options?: ProofOptions): Promise<TestResponse>
  join(invite_token: string, members?: JsonObject, options?: ProofOptions): Promise<TestResponse>
  heartbeat(cert_id: string, members?: JsonObject, options?: ProofOptions): Promise<TestResponse>
  renew(cert_id: string, members?: JsonObject, options?: ProofOptions): Promise<TestResponse>
}

let created = 0

/** Returns a node with a new key. The name keeps its key different from those of other test files. */
export async function newNodeCaller(url: string, name: string, clock: { now(): Instant }): Promise<NodeCaller> {
  created += 1
  return nodeCaller(url, await testSigner('node', `${name}-${created}`), () => clock.now())
}

export function nodeCaller(url: string, signer: Signer, now: () => Instant): NodeCaller {
  const key = signer.publicKey
  const prove: NodeCaller['prove'] = async (members, options = {}) => {
    const draft = { node_public_key: key, timestamp: writeInstant(now()), nonce: randomUUID(), ...members }
    const body: Record<string, JsonValue> = await signNodeProof(draft, options.signer ?? signer)
    options.edit?.(body)
    return body
  }
  const post: NodeCaller['post'] = async (target, members, options = {}) => {
    const { headers, from } = options
    return send(url, 'POST', target, {
      body: await prove(members, options),
      ...(headers === undefined ? {} : { headers }),
      ...(from === undefined ? {} : { from }),
    })
  }
  return {
    key,
    signer,
    prove,
    post,
    join: (invite_token, members, options) => post('/join', { invite_token, ...members }, options),
    heartbeat: (cert_id, members, options) => post('/heartbeat', { cert_id, ...members }, options),
    renew: (cert_id, members, options) => post('/renew', { cert_id, ...members }, options),
  }
}

/** A signer for operators: a test authority, or processes under a campaign. */
export interface OperatorAccess {
  as(name: string): (method: string, target: string, body?: JsonObject) => Promise<TestResponse>
}

/** A fresh token. */
export async function createInvite(na: OperatorAccess, request: JsonObject = {}): Promise<string> {
  return String(accepted(await na.as('standard')('POST', '/admin/invite', request), 201)['token_id'])
}

/** Invites a node and lets it join. */
export async function enroll(
  na: OperatorAccess,
  node: NodeCaller,
  invite: JsonObject = {},
  members: JsonObject = {},
): Promise<JoinCertificate> {
  return accepted(await node.join(await createInvite(na, invite), members), 201) as JoinCertificate
}
