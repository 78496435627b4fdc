import type { Office } from '../../office.ts'
import { RecordFault } from '../../signing/record-faults.ts'
import { AppendedLines } from './appended-lines.ts'
import { growLog } from './grow.ts'

/** How long entries are gathered before the log is signed anew. */
const GATHER_MS = 1000

/** Grows the log soon after entries came, without making any of them wait. */
export class LogKeeper {
  /** What this process appended and the log may not have yet. */
  readonly appended = new AppendedLines()
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> | undefined

  wake(office: Office): void {
    if (this.#timer !== undefined || !office.isServing()) return
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      void this.#run(office)
    }, GATHER_MS)
    this.#timer.unref()
  }

  /** Now, and until the log has everything. */
  async grow(office: Office): Promise<void> {
    await growLog(office, this.appended)
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer)
    await this.#running
  }

  /** A failure is tried again with the next entry, and by the job within a minute. */
  async #run(office: Office): Promise<void> {
    this.#running ??= this.grow(office)
      .catch((error: unknown) => {
        // A fault of its rows has been told, once.
        if (!(error instanceof RecordFault)) office.log.error('the evidence log could not grow', { error })
      })
      .finally(() => {
        this.#running = undefined
      })
    await this.#running
  }
}
