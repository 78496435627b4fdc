/** Fetch interval of the gateways; the shortest interval a policy may have. */
export const PULL_SECONDS = 10
/** An interval with its jitter, a fetch, and a busy machine. */
export const REFUSED_AT_MOST_MS = PULL_SECONDS * 1100 + 5000

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
