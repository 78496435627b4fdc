import { Thread } from '@chancery/service-kit'
import type { Clock } from '@chancery/service-kit'
import type { AuthorityPools } from '../../outbound/authority-pools.ts'
import type { Policy } from '../../policy/policy.ts'
import type { TrustSnapshot } from '../../trust/snapshot.ts'
import { MemberCache } from './member-cache.ts'
import { MemberPages } from './member-pages.ts'
import { REFRESH_SECONDS, writeMesh } from './mesh-document.ts'
import { observe } from './observe.ts'

const FRESH_MS = REFRESH_SECONDS * 1000
const STALE_MS = 60_000

interface Held {
  /** What was published when this was observed: a network that was withdrawn since must not be shown. */
  readonly policy: Policy
  readonly readMs: number
  readonly text: string
  readonly staleText: string
  readonly pages: MemberPages
}

/** The mesh document, observed at most once per 20 s and by one refresh at a time (protocol/gateway 14.4). */
export class MeshView {
  readonly #authorities: AuthorityPools
  readonly #clock: Clock
  readonly #members: MemberCache
  #held: Held | undefined
  /** The one before: whoever is paging through it may go on for a while. */
  #former: Held | undefined
  #gatherings = 0
  #observations = 0
  #refresh: { readonly policy: Policy; readonly done: Promise<Held> } | undefined
  #thread: Thread | undefined

  constructor(authorities: AuthorityPools, clock: Clock) {
    this.#authorities = authorities
    this.#clock = clock
    this.#members = new MemberCache(clock)
  }

  /** Members of one network from one observation, as text; undefined when there is no such network or place. */
  async readMembers(
    trust: TrustSnapshot | undefined,
    network: string,
    cursor: string | undefined,
  ): Promise<string | undefined> {
    if (trust === undefined) return undefined
    if (cursor === undefined) await this.read(trust)
    const held = [this.#held, this.#former].filter((each) => each?.policy === trust.policy)
    if (cursor === undefined) return held[0]?.pages.first(network)
    return held.map((each) => each?.pages.at(network, cursor)).find((text) => text !== undefined)
  }

  /** The document as text; without a policy nothing is published. */
  async read(trust: TrustSnapshot | undefined): Promise<string> {
    if (trust === undefined) return writeMesh([], this.#clock.now(), false)
    const held = this.#held?.policy === trust.policy ? this.#held : undefined
    const ageMs = held === undefined ? Infinity : this.#clock.monotonicMs() - held.readMs
    if (held !== undefined && ageMs <= FRESH_MS) return held.text
    const refresh = this.#refreshOnce(trust)
    if (held === undefined || ageMs > STALE_MS) return (await refresh).text
    // Whoever comes next hears of a failure; this caller has its answer.
    refresh.catch(() => undefined)
    return held.staleText
  }

  async close(): Promise<void> {
    await this.#thread?.close()
  }

  #refreshOnce(trust: TrustSnapshot): Promise<Held> {
    if (this.#refresh?.policy === trust.policy) return this.#refresh.done
    const refresh = { policy: trust.policy, done: this.#observe(trust) }
    this.#refresh = refresh
    const end = (): void => {
      if (this.#refresh === refresh) this.#refresh = undefined
    }
    refresh.done.then((held) => {
      if (this.#refresh === refresh) {
        this.#former = this.#held
        this.#held = held
      }
      end()
    }, end)
    return refresh.done
  }

  async #observe(trust: TrustSnapshot): Promise<Held> {
    const now = this.#clock.now()
    // Its age counts from here, as `observed_at` says it, however long the reading takes.
    const readMs = this.#clock.monotonicMs()
    this.#observations += 1
    const number = this.#observations
    const networks = await observe(trust, {
      authorities: this.#authorities,
      ask: (operation, argument) => this.#ask(operation, argument),
      nextId: () => (this.#gatherings += 1),
      members: this.#members,
      now,
    })
    return {
      policy: trust.policy,
      readMs,
      text: writeMesh(networks, now, false),
      staleText: writeMesh(networks, now, true),
      pages: new MemberPages(networks, number),
    }
  }

  /** A thread that ended is replaced at the next refresh. */
  #ask<Value>(operation: string, argument: unknown): Promise<Value> {
    if (this.#thread === undefined || this.#thread.hasEnded) this.#thread = new Thread('./mesh-thread', import.meta.url)
    return this.#thread.call<Value>(operation, argument)
  }
}
