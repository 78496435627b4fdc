import type { EvidenceLogParts } from './parts.ts'
import { RecordFault } from '../../signing/record-faults.ts'
import { RecentEntries } from './recent-entries.ts'
import { appendToLog } from './append.ts'

/** How long entries are gathered before the log is signed anew. */
const GATHER_MS = 1000

/** Grows the log soon after entries came, without making any of them wait. */
export class LogWriter {
  /** What this process appended and the log may not have yet. */
  readonly appended = new RecentEntries()
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> | undefined
  #isClosed = false

  wake(parts: EvidenceLogParts): void {
    if (this.#isClosed || this.#timer !== undefined || !parts.isServing()) return
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      void this.#run(parts)
    }, GATHER_MS)
    this.#timer.unref()
  }

  /** Now, and until the log has everything. */
  async grow(parts: EvidenceLogParts): Promise<void> {
    await appendToLog(parts, this.appended)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    await this.#running
  }

  /** A failure is tried again with the next entry, and by the job within a minute. */
  async #run(parts: EvidenceLogParts): Promise<void> {
    this.#running ??= this.grow(parts)
      .catch((error: unknown) => {
        // A fault of its rows has been told, once.
        if (!(error instanceof RecordFault)) parts.log.error('the evidence log could not grow', { error })
      })
      .finally(() => {
        this.#running = undefined
      })
    await this.#running
  }
}
