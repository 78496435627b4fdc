import { GatewayRefusal } from '@chancery/contract'
import type { Soon } from '@chancery/service-kit'

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
  /** Something was sent whose effect nobody has confirmed. */
  isOutcomeUncertain = false
  readonly #endMs: number

  constructor(ms: number) {
    this.#ms = ms
    this.#endMs = performance.now() + ms
  }

  /** One step at a time. What is there at once needs no watching. */
  within<Value>(work: Soon<Value>): Soon<Value> {
    if (!(work instanceof Promise)) return work
    this.#timer ??= setTimeout(() => this.#end(), this.#ms)
    return new Promise<Value>((resolve, reject) => {
      // A late failure of abandoned work has nobody left to hear it; rejecting twice changes nothing.
      work.then(resolve, reject)
      if (this.#isOver) reject(this.#refusal())
      else this.#giveUp = reject
    })
  }

  get remainingMs(): number {
    return Math.max(0, this.#endMs - performance.now())
  }

  /** Before a step that changes something: its caller may have been told that the time is over. */
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
