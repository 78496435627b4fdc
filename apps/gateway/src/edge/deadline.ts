import { GatewayRefusal } from '@chancery/contract'
import type { MaybePromise } from '@chancery/service-kit'

/**
 * The time limit of one request (protocol/gateway 5.1 step 5). A running step continues, but its caller does not wait,
 * and no further step with an external effect may start: see {@link Deadline.check}.
 */
export class Deadline {
  readonly #ms: number
  /** Set when a step waits for the first time; most steps do not wait. */
  #timer: NodeJS.Timeout | undefined
  /** Rejects the current step. */
  #giveUp: ((refusal: GatewayRefusal) => void) | undefined
  #isOver = false
  /** True when a request was sent whose effect is not confirmed. */
  isOutcomeUncertain = false
  readonly #endMs: number

  constructor(ms: number) {
    this.#ms = ms
    this.#endMs = performance.now() + ms
  }

  /** Limits one step. A synchronous step needs no timer. */
  within<Value>(work: MaybePromise<Value>): MaybePromise<Value> {
    if (!(work instanceof Promise)) return work
    this.#timer ??= setTimeout(() => this.#end(), this.#ms)
    return new Promise<Value>((resolve, reject) => {
      // Handles a late failure of abandoned work; a second rejection has no effect.
      work.then(resolve, reject)
      if (this.#isOver) reject(this.#refusal())
      else this.#giveUp = reject
    })
  }

  get remainingMs(): number {
    return Math.max(0, this.#endMs - performance.now())
  }

  /** Refuses after the deadline. Called before a step with an effect, because the caller may have its 408 already. */
  check(): void {
    if (this.#isOver || this.remainingMs === 0) throw this.#refusal()
  }

  clear(): void {
    clearTimeout(this.#timer)
  }

  #end(): void {
    this.#isOver = true
    this.#giveUp?.(this.#refusal())
  }

  #refusal(): GatewayRefusal {
    return new GatewayRefusal('deadline', undefined, { isOutcomeUncertain: this.isOutcomeUncertain })
  }
}
