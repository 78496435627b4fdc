import { setTimeout as pause } from 'node:timers/promises'
import type { JsonObject } from '@chancery/protocol'
import type { TestResponse } from '@chancery/testkit'

/** Fetch interval of the gateways; the shortest interval a policy may have. */
export const PULL_SECONDS = 10
/** An interval with its jitter, a fetch, and a busy machine. */
const REFUSED_AT_MOST_MS = PULL_SECONDS * 1100 + 5000

/** Measures for how long callers were refused without interruption. A call without a response does not count. */
export class RefusedCalls {
  readonly #since = new Map<string, number>()
  /** Reports once until the next call is accepted. */
  readonly #reported = new Set<string>()
  refusals = 0
  longestRefusedMs = 0

  accepted(caller: string): void {
    this.#since.delete(caller)
    this.#reported.delete(caller)
  }

  /** Returns the milliseconds since the first refusal, once they exceed the limit. */
  refused(caller: string): number | undefined {
    this.refusals += 1
    const since = this.#since.get(caller) ?? performance.now()
    this.#since.set(caller, since)
    const lasted = Math.round(performance.now() - since)
    this.longestRefusedMs = Math.max(this.longestRefusedMs, lasted)
    if (lasted <= REFUSED_AT_MOST_MS || this.#reported.has(caller)) return undefined
    this.#reported.add(caller)
    return lasted
  }
}

const BETWEEN_CALLS_MS = 300
const ATTESTATION = { subject_id: 'watcher', roles: ['role:client'] }

/** An instance, called without a key and by an operator. */
export interface Watched {
  readonly read: (target: string) => Promise<TestResponse>
  readonly operator: (method: string, target: string, body?: JsonObject) => Promise<TestResponse>
}

/** Calls every instance all the time. Each call that is refused or fails is found, at a switch and between. */
export class Watch {
  readonly found: string[] = []
  readonly #underWay = new Set<Promise<void>>()
  /** Calls wait while it is there: the campaign restarts an instance. */
  #restart: Promise<void> | undefined
  #isRunning = true
  readonly #loops: Promise<unknown>
  #calls = 0
  #longestMs = 0

  constructor(instances: readonly Watched[]) {
    this.#loops = Promise.all(
      instances.flatMap(({ read, operator }, at) => [
        this.#repeat(`GET /crl at instance ${at}`, () => read('/crl')),
        this.#repeat(`GET /nodes at instance ${at}`, () => operator('GET', '/nodes')),
        this.#repeat(`POST /admin/attestations at instance ${at}`, () =>
          operator('POST', '/admin/attestations', ATTESTATION),
        ),
      ]),
    )
    // Reported when it is awaited at the end.
    this.#loops.catch(() => undefined)
  }

  /** Runs a restart with no call under way, so that no call fails because of it. */
  async without(restart: () => Promise<void>): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#restart = promise
    try {
      await Promise.all(this.#underWay)
      await restart()
    } finally {
      this.#restart = undefined
      resolve()
    }
  }

  async stop(): Promise<void> {
    this.#isRunning = false
    await this.#loops
  }

  figures(): JsonObject {
    return { calls: this.#calls, failed_calls: this.found.length, longest_call_ms: Math.round(this.#longestMs) }
  }

  async #repeat(what: string, send: () => Promise<TestResponse>): Promise<void> {
    while (this.#isRunning) {
      await this.#restart
      if (this.#restart !== undefined) continue
      const call = this.#note(what, send)
      this.#underWay.add(call)
      await call
      this.#underWay.delete(call)
      await pause(BETWEEN_CALLS_MS)
    }
  }

  async #note(what: string, send: () => Promise<TestResponse>): Promise<void> {
    const began = performance.now()
    const failure = await send().then(
      ({ status, text }) => (status < 400 ? undefined : `${status} ${text.slice(0, 200)}`),
      (error: unknown) => String(error),
    )
    this.#calls += 1
    this.#longestMs = Math.max(this.#longestMs, performance.now() - began)
    if (failure !== undefined) this.found.push(`${what}: ${failure}`)
  }
}
