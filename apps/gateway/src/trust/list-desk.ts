import { Thread } from '@chancery/service-kit'
import type { ListOutcome, ListTask } from './list-work.ts'

/** Judges lists beside the event loop. A thread that ended is replaced at the next list. */
export class ListDesk {
  #thread: Thread | undefined

  /** Blocks are the desk's from now on, and are not copied to it. */
  judge(task: ListTask): Promise<ListOutcome> {
    if (this.#thread === undefined || this.#thread.hasEnded) this.#thread = new Thread('./list-thread', import.meta.url)
    const moved = Array.isArray(task.bytes) ? task.bytes.map(({ buffer }) => buffer as ArrayBuffer) : []
    return this.#thread.call<ListOutcome>('judge', task, moved)
  }

  async close(): Promise<void> {
    await this.#thread?.close()
  }
}
