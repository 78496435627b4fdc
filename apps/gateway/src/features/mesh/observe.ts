import type { Instant } from '@chancery/protocol'
import type { AuthorityPools } from '../../outbound/authority-pools.ts'
import { type NetworkPolicy, keysOf } from '../../policy/policy.ts'
import { type TrustSnapshot, isUsable, issuerKey } from '../../trust/snapshot.ts'
import type { LinksResult, MembersResult, PageTask, SingleResults } from './collect.ts'
import { type MemberCache, type MemberList, NETWORK_LIMIT, type ObservedNetwork, compare } from './mesh-document.ts'
import type { Facts } from './project.ts'
import { OutboundError } from '@chancery/service-kit'

const READ_MS = 4000
const READ_BYTES = 2_097_152
/** Pages of one list in one refresh. */
export const MAX_PAGES = 50
const PAGE_ROWS = 500
/** A page that is too large is requested again with fewer rows, down to this number. */
const LEAST_ROWS = 8

/** Reads a page and returns its next cursor, or undefined for a malformed document. */
type ReadPage = (bytes: Uint8Array) => Promise<{ readonly next: string | undefined } | undefined>

export interface PagedRead {
  readonly network: NetworkPolicy
  /** Path and query without the parameters of paging. */
  readonly target: string
  readonly readPage: ReadPage
  /** On the monotonic clock of the platform. */
  readonly endMs: number
}

/** none: no page was read. cut: some pages. whole: all pages. */
type ReadExtent = 'none' | 'cut' | 'whole'

/** Reads a list page by page until its end, the page limit or the time limit. */
async function readPages(authorities: AuthorityPools, read: PagedRead): Promise<ReadExtent> {
  let cursor: string | undefined
  let rows = PAGE_ROWS
  let taken = 0
  for (let requests = 0; requests < MAX_PAGES; requests += 1) {
    const query = `&limit=${rows}${cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`}`
    const bytes = await readDocument(authorities, read.network, `${read.target}${query}`, read.endMs)
    if (bytes === 'too-large' && rows > LEAST_ROWS) {
      rows = Math.max(LEAST_ROWS, Math.floor(rows / 4))
      continue
    }
    const page = typeof bytes === 'string' ? undefined : await read.readPage(bytes)
    if (page === undefined) break
    taken += 1
    if (page.next === undefined || page.next === cursor) return 'whole'
    cursor = page.next
  }
  return taken === 0 ? 'none' : 'cut'
}

/** Reads one document without a credential (protocol/gateway 14.2). */
async function readDocument(
  authorities: AuthorityPools,
  network: NetworkPolicy,
  target: string,
  endMs: number,
): Promise<Uint8Array | 'failed' | 'too-large'> {
  const timeoutMs = Math.min(READ_MS, endMs - performance.now())
  if (timeoutMs <= 0) return 'failed'
  try {
    const { status, body } = await authorities.send(network, {
      method: 'GET',
      target,
      headers: ['accept', 'application/json'],
      timeoutMs,
      maxBytes: READ_BYTES,
    })
    if (status !== 200) return 'failed'
    return body ?? 'too-large'
  } catch (error) {
    if (error instanceof OutboundError) return 'failed'
    throw error
  }
}

/** Time for all reads of one network in one refresh. */
const NETWORK_MS = 8000

/** Calls the thread that reads and verifies pages. */
export type CallThread = <Value>(operation: string, argument: unknown) => Promise<Value>

export interface ObserveParts {
  readonly authorities: AuthorityPools
  readonly callThread: CallThread
  readonly nextId: () => number
  readonly members: MemberCache
  readonly now: Instant
}

/** Returns the networks that the operator publishes, in name order. */
export function publishedNetworks(trust: TrustSnapshot): readonly NetworkPolicy[] {
  return [...trust.policy.networks.values()]
    .filter(({ publicMesh, authorityUrl }) => publicMesh && authorityUrl !== undefined)
    .toSorted((a, b) => compare(a.name, b.name))
    .slice(0, NETWORK_LIMIT)
}

/** Reads every published authority. A failed one shows nothing, and never its earlier records. */
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
  const { name, primary, additional, formerKeys } = network
  const issuers = [primary, ...additional].map(({ issuer }) => trust.issuers.get(issuerKey(name, issuer)))
  const anchors = Object.fromEntries(keysOf(network, parts.now))
  const facts: Facts = { network: name, anchors, formerKeys, published, now: parts.now }
  const reader = new NetworkReader(network, facts, parts)
  return {
    id: name,
    isTrustReady: issuers.every((issuerState) => issuerState !== undefined && isUsable(issuerState, parts.now)),
    listSequence: issuers[0]?.position.sequence ?? 0,
    projection: await reader.run(),
  }
}

class NetworkReader {
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
    const { callThread: ask } = this.#parts
    await ask('begin', { id: this.#id, facts: this.#facts })
    try {
      const [linksExtent, membership, singles] = await Promise.all([
        this.#readList('links', '/recognition-treaties?status=active'),
        this.#readMembers(),
        this.#readSingles(),
      ])
      const { links } = await ask<LinksResult>('links', this.#id)
      return {
        isAvailable: linksExtent !== 'none',
        links,
        isLinksCut: linksExtent !== 'whole',
        ...membership,
        ...singles,
      }
    } finally {
      // A thread that ended has no collector.
      await ask('end', this.#id).catch(() => undefined)
    }
  }

  /**
   * Reads the members. Slow lists are cached: public traffic must not make an authority read all members every 20 s.
   */
  async #readMembers(): Promise<MemberList> {
    const { members: cache, callThread: ask } = this.#parts
    const cached = cache.find(this.#network)
    if (cached !== undefined) return cached
    const startedMs = performance.now()
    const extent = await this.#readList('members', '/attestations?status=active&published=true')
    const { members, count, pages } = await ask<MembersResult>('members', this.#id)
    const read = { members, memberCount: count, memberPages: pages, isMembersCut: extent !== 'whole' }
    cache.set(this.#network, read, performance.now() - startedMs)
    return read
  }

  async #readSingles(): Promise<SingleResults> {
    const [feed, dashboard] = await Promise.all([
      this.#read('/sovereign-revocation-feed'),
      this.#read('/dashboard.json'),
    ])
    return this.#parts.callThread<SingleResults>('singles', { id: this.#id, documents: { feed, dashboard } })
  }

  async #read(target: string): Promise<Uint8Array | undefined> {
    const bytes = await readDocument(this.#parts.authorities, this.#network, target, this.#endMs)
    return typeof bytes === 'string' ? undefined : bytes
  }

  #readList(list: PageTask['list'], target: string): Promise<ReadExtent> {
    const { authorities, callThread: ask } = this.#parts
    const readPage: ReadPage = (bytes) => ask('page', { id: this.#id, task: { list, bytes } })
    return readPages(authorities, { network: this.#network, target, readPage, endMs: this.#endMs })
  }
}
