import { type Clock, Thread } from '@chancery/service-kit'
import type { AuthorityPools } from '../../outbound/authority-pools.ts'
import type { Policy } from '../../policy/policy.ts'
import type { TrustSnapshot } from '../../trust/snapshot.ts'
import { MemberCache, type ObservedNetwork, REFRESH_SECONDS, writeMesh } from './mesh-document.ts'
import { observe } from './observe.ts'

/** Stores the members of every network of one observation as pages of text. */
class MemberPages {
  readonly #pages: ReadonlyMap<string, readonly string[]>
  /** Identifies the observation in its cursors: a cursor of one observation is not valid in another. */
  readonly #number: number

  constructor(networks: readonly ObservedNetwork[], number: number) {
    this.#pages = new Map(networks.map(({ id, projection }) => [id, projection.memberPages]))
    this.#number = number
  }

  /** Returns the first page, or undefined when the network is not published. */
  first(network: string): string | undefined {
    return this.#text(network, 0)
  }

  /** Returns the page of a cursor, or undefined when the cursor belongs to another observation. */
  at(network: string, cursor: string): string | undefined {
    const position = /^([0-9]{1,15})\.([0-9]{1,6})$/.exec(Buffer.from(cursor, 'base64url').toString('latin1'))
    if (position === null || Number(position[1]) !== this.#number) return undefined
    return this.#text(network, Number(position[2]))
  }

  #text(network: string, number: number): string | undefined {
    const pages = this.#pages.get(network)
    const page = number === 0 ? (pages?.[0] ?? '[]') : pages?.[number]
    if (pages === undefined || page === undefined) return undefined
    const next = number + 1 < pages.length ? `"${this.#cursor(number + 1)}"` : 'null'
    return `{"members":${page},"next_cursor":${next}}`
  }

  #cursor(page: number): string {
    return Buffer.from(`${this.#number}.${page}`).toString('base64url')
  }
}

const FRESH_MS = REFRESH_SECONDS * 1000
const STALE_MS = 60_000

interface Cached {
  /** The policy at the time of the observation. A network that is no longer published must not be shown. */
  readonly policy: Policy
  readonly readMs: number
  readonly text: string
  readonly staleText: string
  readonly pages: MemberPages
}

/** Caches the mesh document. It is observed at most once per 20 s, by one refresh at a time (protocol/gateway 14.4). */
export class MeshView {
  readonly #authorities: AuthorityPools
  readonly #clock: Clock
  readonly #members: MemberCache
  #current: Cached | undefined
  /** The previous observation, so that a caller that is paging can finish. */
  #former: Cached | undefined
  #collections = 0
  #observations = 0
  #refresh: { readonly policy: Policy; readonly done: Promise<Cached> } | undefined
  #thread: Thread | undefined

  constructor(authorities: AuthorityPools, clock: Clock) {
    this.#authorities = authorities
    this.#clock = clock
    this.#members = new MemberCache(clock)
  }

  /** Returns members of one network as text, or undefined when there is no such network or cursor. */
  async readMembers(
    trust: TrustSnapshot | undefined,
    network: string,
    cursor: string | undefined,
  ): Promise<string | undefined> {
    if (trust === undefined) return undefined
    if (cursor === undefined) await this.read(trust)
    const cached = [this.#current, this.#former].filter((each) => each?.policy === trust.policy)
    if (cursor === undefined) return cached[0]?.pages.first(network)
    return cached.map((each) => each?.pages.at(network, cursor)).find((text) => text !== undefined)
  }

  /** Returns the document as text. Without a policy it has no networks. */
  async read(trust: TrustSnapshot | undefined): Promise<string> {
    if (trust === undefined) return writeMesh([], this.#clock.now(), false)
    const cached = this.#current?.policy === trust.policy ? this.#current : undefined
    const ageMs = cached === undefined ? Infinity : this.#clock.monotonicMs() - cached.readMs
    if (cached !== undefined && ageMs <= FRESH_MS) return cached.text
    const refresh = this.#refreshOnce(trust)
    if (cached === undefined || ageMs > STALE_MS) return (await refresh).text
    // The next caller gets the failure. This caller has its response.
    refresh.catch(() => undefined)
    return cached.staleText
  }

  async close(): Promise<void> {
    await this.#thread?.close()
  }

  #refreshOnce(trust: TrustSnapshot): Promise<Cached> {
    if (this.#refresh?.policy === trust.policy) return this.#refresh.done
    const refresh = { policy: trust.policy, done: this.#observe(trust) }
    this.#refresh = refresh
    const end = (): void => {
      if (this.#refresh === refresh) this.#refresh = undefined
    }
    refresh.done.then((cached) => {
      if (this.#refresh === refresh) {
        this.#former = this.#current
        this.#current = cached
      }
      end()
    }, end)
    return refresh.done
  }

  async #observe(trust: TrustSnapshot): Promise<Cached> {
    const now = this.#clock.now()
    // The age counts from `observed_at`, however long the reading takes.
    const readMs = this.#clock.monotonicMs()
    this.#observations += 1
    const number = this.#observations
    const networks = await observe(trust, {
      authorities: this.#authorities,
      callThread: (operation, argument) => this.#ask(operation, argument),
      nextId: () => (this.#collections += 1),
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

  /** Calls the thread. A thread that ended is replaced. */
  #ask<Value>(operation: string, argument: unknown): Promise<Value> {
    if (this.#thread === undefined || this.#thread.hasEnded) this.#thread = new Thread('./mesh-thread', import.meta.url)
    return this.#thread.call<Value>(operation, argument)
  }
}
