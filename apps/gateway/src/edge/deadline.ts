import { GatewayRefusal } from '@chancery/contract'
import type { Soon } from '@chancery/service-kit'

/** The time one request may take (protocol/gateway 5.1 step 5). Work that is too late goes on, its caller does not wait. */
export class Deadline {
  readonly #ms: number
  /** Set when something waits for the first time: most steps do not. */
  #timer: NodeJS.Timeout | undefined
  /** Ends the step that is waited for. */
  #giveUp: ((refusal: GatewayRefusal) => void) | undefined
  #isOver = false
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
      if (this.#isOver) reject(new GatewayRefusal('deadline'))
      else this.#giveUp = reject
    })
  }

  get remainingMs(): number {
    return Math.max(0, this.#endMs - performance.now())
  }

  clear(): void {
    clearTimeout(this.#timer)
  }

  #end(): void {
    this.#isOver = true
    this.#giveUp?.(new GatewayRefusal('deadline'))
  }
}
