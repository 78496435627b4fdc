import type { Instant } from '@chancery/protocol'
import type { AuthorityPools } from '../../outbound/authority-pools.ts'
import { OutboundFailure } from '../../outbound/call-url.ts'
import type { NetworkPolicy } from '../../policy/policy.ts'
import { isUsable, standingKey } from '../../trust/snapshot.ts'
import type { TrustSnapshot } from '../../trust/snapshot.ts'
import { NETWORK_LIMIT, compare } from './mesh-document.ts'
import type { ObservedNetwork, Projection } from './mesh-document.ts'
import type { ProjectionTask, Readings } from './project.ts'

const READ_MS = 4000
const READ_BYTES = 2_097_152

export interface ObserveParts {
  readonly authorities: AuthorityPools
  readonly project: (task: ProjectionTask) => Promise<Projection>
  readonly now: Instant
}

/** The networks the operator publishes, in name order. */
export function publishedNetworks(trust: TrustSnapshot): readonly NetworkPolicy[] {
  return [...trust.policy.networks.values()]
    .filter(({ publicMesh, authorityUrl }) => publicMesh && authorityUrl !== undefined)
    .toSorted((a, b) => compare(a.name, b.name))
    .slice(0, NETWORK_LIMIT)
}

/** Asks every published authority once; one that fails shows nothing, and never what it showed before. */
export async function observe(trust: TrustSnapshot, parts: ObserveParts): Promise<readonly ObservedNetwork[]> {
  const networks = publishedNetworks(trust)
  const published = networks.map(({ name }) => name)
  return Promise.all(networks.map((network) => observeNetwork(network, published, trust, parts)))
}

async function observeNetwork(
  network: NetworkPolicy,
  published: readonly string[],
  trust: TrustSnapshot,
  { authorities, project, now }: ObserveParts,
): Promise<ObservedNetwork> {
  const { name, primary, additional, anchorTexts } = network
  const standings = [primary, ...additional].map(({ issuer }) => trust.standings.get(standingKey(name, issuer)))
  const readings = await readAll(authorities, network)
  return {
    id: name,
    isTrustReady: standings.every((standing) => standing !== undefined && isUsable(standing, now)),
    listSequence: standings[0]?.mark.sequence ?? 0,
    projection: await project({ network: name, anchors: anchorTexts, published, now, readings }),
  }
}

/** Four reads at once, without any credential (protocol/gateway 14.2). */
async function readAll(authorities: AuthorityPools, network: NetworkPolicy): Promise<Readings> {
  const read = (target: string): Promise<Uint8Array | undefined> => readDocument(authorities, network, target)
  const [treaties, attestations, dashboard, feed] = await Promise.all([
    read('/recognition-treaties?status=active'),
    read('/attestations?status=active'),
    read('/dashboard.json'),
    read('/sovereign-revocation-feed'),
  ])
  return { treaties, attestations, dashboard, feed }
}

async function readDocument(
  authorities: AuthorityPools,
  network: NetworkPolicy,
  target: string,
): Promise<Uint8Array | undefined> {
  try {
    const { status, body } = await authorities.send(network, {
      method: 'GET',
      target,
      headers: ['accept', 'application/json'],
      timeoutMs: READ_MS,
      maxBytes: READ_BYTES,
    })
    return status === 200 ? body : undefined
  } catch (error) {
    if (error instanceof OutboundFailure) return undefined
    throw error
  }
}
