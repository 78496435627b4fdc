import { FairQueue, Thread } from '@chancery/service-kit'

/** Larger bodies are read in a thread. On the event loop they would delay all requests. */
export const INLINE_BODY_BYTES = 131_072

/** The caller of the work. `check` throws when its result is no longer needed. */
export interface ThreadCaller {
  readonly id: string
  readonly check: () => void
}

/** One piece of work at a time, without pauses, because the thread does nothing else. */
const QUEUE_LIMITS = { atOnce: 1, shortMs: Number.POSITIVE_INFINITY, restFactor: 0, restMaxMs: 0 }

/**
 * Runs work of many callers in one thread. A caller waits for its own pieces and for one piece of each other caller. A
 * thread that ended is replaced at the next piece.
 */
export class FairThread {
  readonly #name: string
  readonly #from: string
  readonly #queue = new FairQueue(QUEUE_LIMITS)
  #thread: Thread | undefined
  #isClosed = false

  /** Takes the arguments of {@link Thread}. */
  constructor(name: string, from: string) {
    this.#name = name
    this.#from = from
  }

  async call<Value>(caller: ThreadCaller, operation: string, argument: unknown): Promise<Value> {
    const slot = this.#queue.take(caller.id)
    await slot.granted
    try {
      caller.check()
      return await this.#ready().call<Value>(operation, argument)
    } finally {
      slot.end()
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#thread?.close()
  }

  #ready(): Thread {
    if (this.#thread === undefined || (this.#thread.hasEnded && !this.#isClosed)) {
      this.#thread = new Thread(this.#name, this.#from)
    }
    return this.#thread
  }
}
