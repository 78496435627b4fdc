/**
 * Runs tasks one at a time, in order. For changes that need the same database lock: waiting here costs nothing, but
 * waiting in the database occupies a connection. The lock still protects against other processes.
 */
export class SerialQueue {
  #last: Promise<unknown> = Promise.resolve()

  /** Runs `work` when all earlier tasks have ended, also when they failed. */
  take<Result>(work: () => Promise<Result>): Promise<Result> {
    const turn = this.#last.then(work)
    // Only its own caller receives a failure.
    this.#last = turn.then(ignore, ignore)
    return turn
  }
}

function ignore(): void {}
