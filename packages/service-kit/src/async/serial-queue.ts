/**
 * One at a time, in the order they came. For changes that would wait for the same lock in the database anyway: waiting
 * here costs nothing, waiting there holds a connection that others need. The lock separates other processes.
 */
export class SerialQueue {
  #last: Promise<unknown> = Promise.resolve()

  /** Runs `work` when everything before it has ended, well or badly. */
  take<Result>(work: () => Promise<Result>): Promise<Result> {
    const turn = this.#last.then(work)
    // A failure is for its own caller only.
    this.#last = turn.then(ignore, ignore)
    return turn
  }
}

function ignore(): void {}
