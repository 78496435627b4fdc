/**
 * Shares one expensive read among many callers. `read` returns the result of a load that STARTED after the call.
 * Callers that arrive during a load share the next one, so at most one load runs and one waits. So a request always
 * sees a revocation committed before it (reliability 13).
 *
 * The load must have its own time limit, because later callers wait for it.
 */
export class SharedRead<T> {
  readonly #load: () => Promise<T>
  readonly #delay: (() => Promise<void>) | undefined
  #running: Promise<unknown> = Promise.resolve()
  #next: Promise<T> | undefined

  /** `delay` delays each load so that more callers share it, for example until the end of the loop turn. */
  constructor(load: () => Promise<T>, delay?: () => Promise<void>) {
    this.#load = load
    this.#delay = delay
  }

  /** A failed load fails only for the callers that shared it. */
  read(): Promise<T> {
    this.#next ??= this.#loadAfter(this.#running)
    return this.#next
  }

  async #loadAfter(running: Promise<unknown>): Promise<T> {
    // Waits also when no load runs, so that callers of one loop turn share one load.
    await running
    if (this.#delay !== undefined) await this.#delay()
    // The load starts now. Later callers need another one.
    this.#next = undefined
    const load = (async () => this.#load())()
    this.#running = load.then(ignore, ignore)
    return load
  }
}

function ignore(): void {}
