import type { MeshMember } from '@chancery/contract'
import type { Clock } from '@chancery/service-kit'
import type { NetworkPolicy } from '../../policy/policy.ts'

/** The members of one network that are shown, as they were read. */
export interface ReadMembers {
  readonly members: readonly MeshMember[]
  readonly memberCount: number
  readonly memberPages: readonly string[]
  /** Not all of them could be read. */
  readonly isMembersCut: boolean
}

const SLOW_MS = 2000
const KEPT_MS = 300_000

/** Memberships whose reading took long, which are read again after five minutes at the earliest. */
export class MemberCache {
  readonly #clock: Pick<Clock, 'monotonicMs'>
  /** By the network as one policy says it: another policy reads anew. */
  readonly #kept = new WeakMap<NetworkPolicy, { readonly read: ReadMembers; readonly atMs: number }>()

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock
  }

  find(network: NetworkPolicy): ReadMembers | undefined {
    const kept = this.#kept.get(network)
    return kept !== undefined && this.#clock.monotonicMs() - kept.atMs < KEPT_MS ? kept.read : undefined
  }

  keep(network: NetworkPolicy, read: ReadMembers, tookMs: number): void {
    if (tookMs > SLOW_MS) this.#kept.set(network, { read, atMs: this.#clock.monotonicMs() })
    else this.#kept.delete(network)
  }
}
