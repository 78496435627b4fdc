import type {
  Mesh,
  MeshFeed,
  MeshImport,
  MeshLink,
  MeshMember,
  MeshNetwork,
  MeshStatus,
  MeshSynchronization,
} from '@chancery/contract'
import { type Instant, readInstant, writeInstant, writeJson } from '@chancery/protocol'
import type { Clock } from '@chancery/service-kit'
import type { NetworkPolicy } from '../../policy/policy.ts'

/** The members of one network that are shown. */
export interface MemberList {
  readonly members: readonly MeshMember[]
  readonly memberCount: number
  readonly memberPages: readonly string[]
  /** Not all members could be read. */
  readonly isMembersCut: boolean
}

const SLOW_MS = 2000
const CACHED_MS = 300_000

/** Caches member lists that took long to read. They are read again after five minutes. */
export class MemberCache {
  readonly #clock: Pick<Clock, 'monotonicMs'>
  /** By the network of one policy: a new policy reads again. */
  readonly #cache = new WeakMap<NetworkPolicy, { readonly read: MemberList; readonly atMs: number }>()

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock
  }

  find(network: NetworkPolicy): MemberList | undefined {
    const cached = this.#cache.get(network)
    return cached !== undefined && this.#clock.monotonicMs() - cached.atMs < CACHED_MS ? cached.read : undefined
  }

  set(network: NetworkPolicy, read: MemberList, tookMs: number): void {
    if (tookMs > SLOW_MS) this.#cache.set(network, { read, atMs: this.#clock.monotonicMs() })
    else this.#cache.delete(network)
  }
}

/** The part of an authority's responses that may be shown. */
export interface Projection extends MemberList {
  readonly isAvailable: boolean
  readonly links: readonly MeshLink[]
  /** Not all treaties could be read. */
  readonly isLinksCut: boolean
  readonly feed: MeshFeed | null
  /** Undefined when the imports could not be read. */
  readonly imports: readonly MeshImport[] | undefined
}

/** One published network: the records of its authority and the trust state of this gateway. */
export interface ObservedNetwork {
  readonly id: string
  readonly isTrustReady: boolean
  readonly listSequence: number
  readonly projection: Projection
}

export const NETWORK_LIMIT = 16
export const MEMBER_LIMIT = 64
export const LINK_LIMIT = 256
export const REFRESH_SECONDS = 20

/** Writes the document of protocol/gateway 14.1 in its order. */
export function writeMesh(networks: readonly ObservedNetwork[], now: Instant, isStale: boolean): string {
  const links = networks.flatMap(({ projection }) => projection.links)
  // Slow member lists are cached for minutes. Members that have expired since are not shown.
  const members = networks.flatMap(({ projection }) =>
    projection.members.filter(({ expires_at }) => (readInstant(expires_at) ?? 0n) > now),
  )
  const mesh: Mesh = {
    observed_at: writeInstant(now),
    refresh_seconds: REFRESH_SECONDS,
    ...(isStale ? { stale: true } : {}),
    networks: networks.map(toNetwork),
    links: links.toSorted((a, b) => compare(a.id, b.id)),
    members: members.toSorted((a, b) => compare(`${a.subject}\0${a.network}`, `${b.subject}\0${b.network}`)),
    synchronization: synchronize(networks, links),
    network_limit: NETWORK_LIMIT,
    member_limit_per_network: MEMBER_LIMIT,
    link_limit_per_network: LINK_LIMIT,
  }
  return writeJson(mesh)
}

function toNetwork({ id, isTrustReady, listSequence, projection }: ObservedNetwork): MeshNetwork {
  const { isAvailable, feed, imports, memberCount, isMembersCut, isLinksCut } = projection
  return {
    id,
    available: isAvailable,
    trust_ready: isTrustReady,
    crl_sequence: listSequence,
    source_feed: feed,
    imports_available: imports !== undefined,
    imports: imports ?? [],
    member_count: memberCount,
    members_truncated: isMembersCut,
    links_truncated: isLinksCut,
  }
}

/** Returns one row per linked pair: a network that recognises another should have imported its feed. */
function synchronize(networks: readonly ObservedNetwork[], links: readonly MeshLink[]): readonly MeshSynchronization[] {
  const byId = new Map(networks.map((network) => [network.id, network.projection]))
  const pairs = new Map(links.map(({ from, to }) => [`${from}\0${to}`, { from, to }]))
  return [...pairs]
    .toSorted(([a], [b]) => compare(a, b))
    .map(([, { from, to }]) => {
      const imports = byId.get(from)?.imports
      const published = byId.get(to)?.feed?.sequence ?? null
      const imported = imports?.find(({ issuer }) => issuer === to)
      return {
        consumer: from,
        publisher: to,
        status: statusOf(imports !== undefined, published, imported?.sequence ?? null),
        published_sequence: published,
        imported_sequence: imported?.sequence ?? null,
        last_imported_at: imported?.imported_at ?? null,
      }
    })
}

/** Compares two sequences. This proves nothing about what the consumer enforces. */
function statusOf(hasConsumer: boolean, published: number | null, imported: number | null): MeshStatus {
  if (!hasConsumer) return 'consumer_unavailable'
  if (published === null) return 'source_unverified'
  if (imported === null) return 'not_imported'
  if (imported > published) return 'source_rollback'
  return imported === published ? 'current' : 'behind'
}

export function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
