import { Thread } from '@chancery/service-kit'
import type { ListOutcome, ListTask } from './check-list.ts'
import type { readSuccession, SuccessionTask } from './read-succession.ts'

/** Checks lists and offered keys in a thread. A thread that ended is replaced at the next call. */
export class ListWorker {
  #thread: Thread | undefined

  /** Checks a list. Blocks are transferred to the thread, not copied. */
  check(task: ListTask): Promise<ListOutcome> {
    const moved = Array.isArray(task.bytes) ? task.bytes.map(({ buffer }) => buffer as ArrayBuffer) : []
    return this.#ready().call<ListOutcome>('check', task, moved)
  }

  readSuccession(task: SuccessionTask): ReturnType<typeof readSuccession> {
    return this.#ready().call('readSuccession', task)
  }

  /** The key id that a list names. Not verified. */
  issuerOf(bytes: Uint8Array): Promise<string | undefined> {
    return this.#ready().call('issuerOf', bytes)
  }

  async close(): Promise<void> {
    await this.#thread?.close()
  }

  #ready(): Thread {
    if (this.#thread === undefined || this.#thread.hasEnded)
      this.#thread = new Thread('./list-worker-thread', import.meta.url)
    return this.#thread
  }
}
