import { Thread } from '@chancery/service-kit'
import type { ListOutcome, ListTask } from './list-work.ts'

/** Judges lists beside the event loop. A thread that ended is replaced at the next list. */
export class ListDesk {
  #thread: Thread | undefined

  /** `given`: the bytes are the desk's from now on, and need not be copied to it. */
  judge(task: ListTask, bytes: 'given' | 'lent' = 'lent'): Promise<ListOutcome> {
    if (this.#thread === undefined || this.#thread.hasEnded) this.#thread = new Thread('./list-thread', import.meta.url)
    const { buffer } = task.bytes
    const isMovable = bytes === 'given' && buffer instanceof ArrayBuffer && task.bytes.length === buffer.byteLength
    return this.#thread.call<ListOutcome>('judge', task, isMovable ? [buffer] : [])
  }

  async close(): Promise<void> {
    await this.#thread?.close()
  }
}
