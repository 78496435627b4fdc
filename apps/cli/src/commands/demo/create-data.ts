import { type Instant, writeJson } from '@chancery/protocol'
import { type Client, createClient } from '@chancery/sdk'
import { NETWORK, demoSigner } from './demo-data.ts'
import { decide } from './decisions.ts'
import { type NodesFolder, agentOf, isShortLived, nodeName, nodeRoles } from './demo-nodes.ts'
import type { DemoKeys } from './demo-folder.ts'
import { addPartners, importFeeds } from './partners.ts'

export interface DemoTarget {
  readonly url: string
  readonly keys: DemoKeys
  readonly nodes: number
  readonly now: () => Instant
  readonly folder: NodesFolder
}

/** A node that has joined. */
export interface JoinedNode {
  readonly index: number
  readonly certId: string
  readonly client: Client
}

/** Number of nodes that join at once. */
const TOGETHER = 16
/** One in this many nodes is revoked. */
const REVOKED_EVERY = 40

export function operatorOf({ url, keys, now }: Pick<DemoTarget, 'url' | 'keys' | 'now'>): Client {
  return createClient({ url, clock: now, operator: { signer: keys.operator, audience: keys.authority.publicKey } })
}

/** Fills a new authority through its own routes, so that all data could come from an operator. */
export async function fill(target: DemoTarget): Promise<void> {
  const operator = operatorOf(target)
  await operator.policy.publish({ policy_id: 'demo-policy' })
  await revokeSome(target, operator, await joinNodes(target, operator, range(0, target.nodes)))
  await addPartners(operator)
  await importFeeds(operator, target.now())
  await decide(operator, target.now())
}

export function range(from: number, to: number): readonly number[] {
  return Array.from({ length: Math.max(0, to - from) }, (_, i) => from + i)
}

export async function joinNodes(
  target: DemoTarget,
  operator: Client,
  indexes: readonly number[],
  { allowShort = true }: { readonly allowShort?: boolean } = {},
): Promise<readonly JoinedNode[]> {
  const joined: JoinedNode[] = []
  for (let at = 0; at < indexes.length; at += TOGETHER) {
    const batch = indexes.slice(at, at + TOGETHER).map((index) => joinNode(target, operator, index, allowShort))
    joined.push(...(await Promise.all(batch)))
  }
  return joined
}

async function joinNode(
  { url, keys, now, folder }: DemoTarget,
  operator: Client,
  index: number,
  allowShort: boolean,
): Promise<JoinedNode> {
  const name = nodeName(index)
  const { token_id } = await operator.enrollment.invite({ roles: nodeRoles(index), label: name })
  const signer = await demoSigner(name)
  const client = createClient({ url, clock: now, node: { signer, audience: keys.authority.publicKey } })
  const validity = allowShort && isShortLived(index) ? { validity_hours: 1 } : {}
  const certificate = await client.enrollment.join({ invite_token: token_id, ...validity })
  const store = await folder.store(index)
  await store.write('certificate', writeJson(certificate))
  const agent = agentOf(index)
  if (agent !== undefined) await client.agents.register({ ...agent, network_name: NETWORK })
  return { index, certId: certificate.cert_id, client }
}

/** Revokes one in forty nodes. They are not started later. Returns the others. */
export async function revokeSome(
  { folder }: DemoTarget,
  operator: Client,
  nodes: readonly JoinedNode[],
): Promise<readonly JoinedNode[]> {
  const isRevoked = ({ index }: JoinedNode): boolean => index % REVOKED_EVERY === REVOKED_EVERY - 1
  const revoked = nodes.filter(isRevoked)
  const [first, ...more] = revoked.map(({ certId }) => certId)
  if (first !== undefined) await operator.crl.revoke({ cert_ids: [first, ...more], reason: 'key_compromise' })
  for (const { index } of revoked) await folder.remove(index)
  return nodes.filter((node) => !isRevoked(node))
}
