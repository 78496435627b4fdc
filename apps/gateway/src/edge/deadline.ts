import { GatewayRefusal } from '@chancery/contract'
import type { MaybePromise } from '@chancery/service-kit'

/**
 * The time one request may take (protocol/gateway 5.1 step 5). A step that is under way goes on, but its caller does not
 * wait, and no further step that others can see may begin: see {@link Deadline.check}.
 */
export class Deadline {
  readonly #ms: number
  /** Set when something waits for the first time: most steps do not. */
  #timer: NodeJS.Timeout | undefined
  /** Ends the step that is waited for. */
  #giveUp: ((refusal: GatewayRefusal) => void) | undefined
  #isOver = false
  /** True when something was sent whose effect is not confirmed. */
  isOutcomeUncertain = false
  readonly #endMs: number

  constructor(ms: number) {
    this.#ms = ms
    this.#endMs = performance.now() + ms
  }

  /** One step at a time. What is there at once needs no watching. */
  within<Value>(work: MaybePromise<Value>): MaybePromise<Value> {
    if (!(work instanceof Promise)) return work
    this.#timer ??= setTimeout(() => this.#end(), this.#ms)
    return new Promise<Value>((resolve, reject) => {
      // A late failure of abandoned work has no receiver; rejecting twice changes nothing.
      work.then(resolve, reject)
      if (this.#isOver) reject(this.#refusal())
      else this.#giveUp = reject
    })
  }

  get remainingMs(): number {
    return Math.max(0, this.#endMs - performance.now())
  }

  /** Refuses when the time is over. Called before a step that changes something: the caller may have its 408 already. */
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
