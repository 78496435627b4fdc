import { Thread } from '@chancery/service-kit'
import type { ListOutcome, ListTask } from './check-list.ts'

/** Checks lists in a thread. A thread that ended is replaced at the next list. */
export class ListWorker {
  #thread: Thread | undefined

  /** Checks a list. Blocks are transferred to the thread, not copied. */
  check(task: ListTask): Promise<ListOutcome> {
    if (this.#thread === undefined || this.#thread.hasEnded)
      this.#thread = new Thread('./list-worker-thread', import.meta.url)
    const moved = Array.isArray(task.bytes) ? task.bytes.map(({ buffer }) => buffer as ArrayBuffer) : []
    return this.#thread.call<ListOutcome>('check', task, moved)
  }

  async close(): Promise<void> {
    await this.#thread?.close()
  }
}
