import { GatewayRefusal } from '@chancery/contract'

/** The time one request may take (protocol/gateway 5.1 step 5). Work that is too late goes on, its caller does not wait. */
export class Deadline {
  readonly #expired = Promise.withResolvers<never>()
  readonly #timer: NodeJS.Timeout
  readonly #endMs: number

  constructor(ms: number) {
    this.#endMs = performance.now() + ms
    // Nobody may be listening when it passes.
    this.#expired.promise.catch(() => undefined)
    this.#timer = setTimeout(() => this.#expired.reject(new GatewayRefusal('deadline')), ms)
  }

  async within<Value>(work: Promise<Value>): Promise<Value> {
    // A late failure of abandoned work has nobody left to hear it.
    work.catch(() => undefined)
    return Promise.race([work, this.#expired.promise])
  }

  get remainingMs(): number {
    return Math.max(0, this.#endMs - performance.now())
  }

  clear(): void {
    clearTimeout(this.#timer)
  }
}
