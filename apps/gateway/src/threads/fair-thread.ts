import { Thread } from '@chancery/service-kit'

interface Job {
  readonly run: (thread: Thread) => Promise<void>
}

/** Whose work it is, and whether anybody still wants it; `check` throws when not. */
export interface Holder {
  readonly id: string
  readonly check: () => void
}

/**
 * One thread for work of many callers, who take turns: whoever has much to do waits for itself and for one piece of each
 * other. A thread that ended is replaced at the next piece.
 */
export class FairThread {
  readonly #name: string
  readonly #from: string
  #thread: Thread | undefined
  /** Waiting work by holder; the first holder has the next turn. */
  readonly #waiting = new Map<string, Job[]>()
  #isRunning = false
  #isClosed = false

  /** As for {@link Thread}. */
  constructor(name: string, from: string) {
    this.#name = name
    this.#from = from
  }

  call<Value>(holder: Holder, operation: string, argument: unknown): Promise<Value> {
    return new Promise<Value>((resolve, reject) => {
      const run = async (thread: Thread): Promise<void> => {
        try {
          holder.check()
          resolve(await thread.call<Value>(operation, argument))
        } catch (error) {
          reject(error)
        }
      }
      const own = this.#waiting.get(holder.id)
      if (own === undefined) this.#waiting.set(holder.id, [{ run }])
      else own.push({ run })
      if (!this.#isRunning) void this.#runAll()
    })
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#thread?.close()
  }

  /** One piece of the first holder, who then stands last: behind those who came meanwhile. */
  async #runAll(): Promise<void> {
    this.#isRunning = true
    for (let [first] = this.#waiting; first !== undefined; [first] = this.#waiting) {
      const [id, jobs] = first
      await jobs.shift()?.run(this.#ready())
      this.#waiting.delete(id)
      if (jobs.length > 0) this.#waiting.set(id, jobs)
    }
    this.#isRunning = false
  }

  #ready(): Thread {
    if (this.#thread === undefined || (this.#thread.hasEnded && !this.#isClosed)) {
      this.#thread = new Thread(this.#name, this.#from)
    }
    return this.#thread
  }
}
