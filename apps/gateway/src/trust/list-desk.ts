import { Thread } from '@chancery/service-kit'
import type { ListOutcome, ListTask } from './list-work.ts'

/** Judges lists beside the event loop. A thread that ended is replaced at the next list. */
export class ListDesk {
  #thread: Thread | undefined

  judge(task: ListTask): Promise<ListOutcome> {
    if (this.#thread === undefined || this.#thread.hasEnded) this.#thread = new Thread('./list-thread', import.meta.url)
    return this.#thread.call<ListOutcome>('judge', task)
  }

  async close(): Promise<void> {
    await this.#thread?.close()
  }
}
