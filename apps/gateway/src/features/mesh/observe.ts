import type { Instant } from '@chancery/protocol'
import type { AuthorityPools } from '../../outbound/authority-pools.ts'
import type { NetworkPolicy } from '../../policy/policy.ts'
import { isUsable, standingKey } from '../../trust/snapshot.ts'
import type { TrustSnapshot } from '../../trust/snapshot.ts'
import type { GatheredLinks, GatheredMembers, PageTask, Singles } from './gather.ts'
import { NETWORK_LIMIT, compare } from './mesh-document.ts'
import type { ObservedNetwork } from './mesh-document.ts'
import type { MemberCache, ReadMembers } from './member-cache.ts'
import type { Facts } from './project.ts'
import { readDocument, readPages } from './read-pages.ts'
import type { Reach, TakePage } from './read-pages.ts'

/** Everything that is read of one network for one refresh. */
const NETWORK_MS = 8000

/** Where pages are read and verified: beside the event loop. */
export type Ask = <Value>(operation: string, argument: unknown) => Promise<Value>

export interface ObserveParts {
  readonly authorities: AuthorityPools
  readonly ask: Ask
  readonly nextId: () => number
  readonly members: MemberCache
  readonly now: Instant
}

/** The networks the operator publishes, in name order. */
export function publishedNetworks(trust: TrustSnapshot): readonly NetworkPolicy[] {
  return [...trust.policy.networks.values()]
    .filter(({ publicMesh, authorityUrl }) => publicMesh && authorityUrl !== undefined)
    .toSorted((a, b) => compare(a.name, b.name))
    .slice(0, NETWORK_LIMIT)
}

/** Asks every published authority; one that fails shows nothing, and never what it showed before. */
export async function observe(trust: TrustSnapshot, parts: ObserveParts): Promise<readonly ObservedNetwork[]> {
  const networks = publishedNetworks(trust)
  const published = networks.map(({ name }) => name)
  return Promise.all(networks.map((network) => observeNetwork(network, published, trust, parts)))
}

async function observeNetwork(
  network: NetworkPolicy,
  published: readonly string[],
  trust: TrustSnapshot,
  parts: ObserveParts,
): Promise<ObservedNetwork> {
  const { name, primary, additional, anchorTexts } = network
  const standings = [primary, ...additional].map(({ issuer }) => trust.standings.get(standingKey(name, issuer)))
  const facts: Facts = { network: name, anchors: anchorTexts, published, now: parts.now }
  const reading = new NetworkReading(network, facts, parts)
  return {
    id: name,
    isTrustReady: standings.every((standing) => standing !== undefined && isUsable(standing, parts.now)),
    listSequence: standings[0]?.mark.sequence ?? 0,
    projection: await reading.run(),
  }
}

class NetworkReading {
  readonly #network: NetworkPolicy
  readonly #facts: Facts
  readonly #parts: ObserveParts
  readonly #id: number
  readonly #endMs = performance.now() + NETWORK_MS

  constructor(network: NetworkPolicy, facts: Facts, parts: ObserveParts) {
    this.#network = network
    this.#facts = facts
    this.#parts = parts
    this.#id = parts.nextId()
  }

  async run(): Promise<ObservedNetwork['projection']> {
    const { ask } = this.#parts
    await ask('begin', { id: this.#id, facts: this.#facts })
    try {
      const [linksReach, membership, singles] = await Promise.all([
        this.#readList('links', '/recognition-treaties?status=active'),
        this.#readMembers(),
        this.#readSingles(),
      ])
      const { links } = await ask<GatheredLinks>('links', this.#id)
      return {
        isAvailable: linksReach !== 'none',
        links,
        isLinksCut: linksReach !== 'whole',
        ...membership,
        ...singles,
      }
    } finally {
      // A thread that has ended holds nothing any more.
      await ask('end', this.#id).catch(() => undefined)
    }
  }

  /** Slow ones are kept for a while: public traffic must not make an authority read all of them every 20 s. */
  async #readMembers(): Promise<ReadMembers> {
    const { members: cache, ask } = this.#parts
    const kept = cache.find(this.#network)
    if (kept !== undefined) return kept
    const startedMs = performance.now()
    const reach = await this.#readList('members', '/attestations?status=active&published=true')
    const { members, count, pages } = await ask<GatheredMembers>('members', this.#id)
    const read = { members, memberCount: count, memberPages: pages, isMembersCut: reach !== 'whole' }
    cache.keep(this.#network, read, performance.now() - startedMs)
    return read
  }

  async #readSingles(): Promise<Singles> {
    const [feed, dashboard] = await Promise.all([
      this.#read('/sovereign-revocation-feed'),
      this.#read('/dashboard.json'),
    ])
    return this.#parts.ask<Singles>('singles', { id: this.#id, documents: { feed, dashboard } })
  }

  async #read(target: string): Promise<Uint8Array | undefined> {
    const bytes = await readDocument(this.#parts.authorities, this.#network, target, this.#endMs)
    return typeof bytes === 'string' ? undefined : bytes
  }

  #readList(list: PageTask['list'], target: string): Promise<Reach> {
    const { authorities, ask } = this.#parts
    const take: TakePage = (bytes) => ask('page', { id: this.#id, task: { list, bytes } })
    return readPages(authorities, { network: this.#network, target, take, endMs: this.#endMs })
  }
}
