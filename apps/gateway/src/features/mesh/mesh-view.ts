import { Thread } from '@chancery/service-kit'
import type { Clock } from '@chancery/service-kit'
import type { AuthorityPools } from '../../outbound/authority-pools.ts'
import type { Policy } from '../../policy/policy.ts'
import type { TrustSnapshot } from '../../trust/snapshot.ts'
import { REFRESH_SECONDS, writeMesh } from './mesh-document.ts'
import type { Projection } from './mesh-document.ts'
import { observe } from './observe.ts'
import type { ProjectionTask } from './project.ts'

const FRESH_MS = REFRESH_SECONDS * 1000
const STALE_MS = 60_000

interface Held {
  /** What was published when this was observed: a network that was withdrawn since must not be shown. */
  readonly policy: Policy
  readonly readMs: number
  readonly text: string
  readonly staleText: string
}

/** The mesh document, observed at most once per 20 s and by one refresh at a time (protocol/gateway 14.4). */
export class MeshView {
  readonly #authorities: AuthorityPools
  readonly #clock: Clock
  #held: Held | undefined
  #refresh: { readonly policy: Policy; readonly done: Promise<Held> } | undefined
  #thread: Thread | undefined

  constructor(authorities: AuthorityPools, clock: Clock) {
    this.#authorities = authorities
    this.#clock = clock
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
      if (this.#refresh === refresh) this.#held = held
      end()
    }, end)
    return refresh.done
  }

  async #observe(trust: TrustSnapshot): Promise<Held> {
    const now = this.#clock.now()
    const networks = await observe(trust, {
      authorities: this.#authorities,
      project: (task) => this.#project(task),
      now,
    })
    return {
      policy: trust.policy,
      readMs: this.#clock.monotonicMs(),
      text: writeMesh(networks, now, false),
      staleText: writeMesh(networks, now, true),
    }
  }

  /** A thread that ended is replaced at the next refresh. */
  #project(task: ProjectionTask): Promise<Projection> {
    if (this.#thread === undefined || this.#thread.hasEnded) this.#thread = new Thread('./mesh-thread', import.meta.url)
    return this.#thread.call<Projection>('project', task)
  }
}
