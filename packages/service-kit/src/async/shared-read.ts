/**
 * Shares one expensive read among many callers without ever answering from before the question: `read` gives the result
 * of a load that STARTED after it was called. Callers who arrive while a load runs share the next one, so at most one
 * load runs and at most one waits, however many ask. A withdrawal committed before a request is therefore always seen
 * by it (reliability 13).
 *
 * The load must end by itself (a statement time-out, a deadline): later callers wait for it.
 */
export class SharedRead<T> {
  readonly #load: () => Promise<T>
  readonly #gather: (() => Promise<void>) | undefined
  #running: Promise<unknown> = Promise.resolve()
  #next: Promise<T> | undefined

  /** `gather` puts each load off, so that more callers share it: until the end of the turn, for example. */
  constructor(load: () => Promise<T>, gather?: () => Promise<void>) {
    this.#load = load
    this.#gather = gather
  }

  /** A failed load fails for the callers that shared it, and for no others. */
  read(): Promise<T> {
    this.#next ??= this.#loadAfter(this.#running)
    return this.#next
  }

  async #loadAfter(running: Promise<unknown>): Promise<T> {
    // Also when nothing runs this gives up the turn, so that callers who arrive together share one load.
    await running
    if (this.#gather !== undefined) await this.#gather()
    // From here on the load has begun: later callers need another one.
    this.#next = undefined
    const load = (async () => this.#load())()
    this.#running = load.then(ignore, ignore)
    return load
  }
}

function ignore(): void {}
