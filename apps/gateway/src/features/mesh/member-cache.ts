import type { MeshMember } from '@chancery/contract'
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
