import type { MaybePromise } from '@chancery/service-kit'

/** Lets work run until it is closed. Then new work waits, and the closing waits for the work that runs. */
export class Gate {
  #running = 0
  #opened: Promise<void> | undefined
  #open: () => void = () => undefined
  #drained: () => void = () => undefined

  /** Runs the work, at once while the gate is open. */
  within<Result>(work: () => MaybePromise<Result>): MaybePromise<Result> {
    return this.#opened === undefined ? this.#run(work) : this.#opened.then(() => this.within(work))
  }

  /** Returns whether all work ended within this time. The gate is closed in both cases. */
  async close(withinMs: number): Promise<boolean> {
    this.#opened ??= new Promise((resolve) => {
      this.#open = resolve
    })
    if (this.#running === 0) return true
    let timer: NodeJS.Timeout | undefined
    const drained = new Promise<boolean>((resolve) => {
      this.#drained = () => resolve(true)
      timer = setTimeout(() => resolve(false), withinMs)
    })
    return drained.finally(() => clearTimeout(timer))
  }

  /** Ends when the gate is opened again. Undefined while it is open. */
  get opened(): Promise<void> | undefined {
    return this.#opened
  }

  open(): void {
    this.#opened = undefined
    this.#open()
  }

  #run<Result>(work: () => MaybePromise<Result>): MaybePromise<Result> {
    this.#running += 1
    let result: MaybePromise<Result>
    try {
      result = work()
    } catch (error) {
      this.#leave()
      throw error
    }
    if (result instanceof Promise) return result.finally(() => this.#leave())
    this.#leave()
    return result
  }

  #leave(): void {
    this.#running -= 1
    if (this.#running === 0) this.#drained()
  }
}

/**
 * What waits while the key changes, so that no record is drafted for one key and signed by another. Jobs stop first,
 * because a job may run for seconds. Then calls wait for the moment of the switch.
 */
export interface SwitchGates {
  readonly jobs: Gate
  readonly calls: Gate
}
