import type { EvidenceLogParts } from './parts.ts'
import { RecordFault } from '../../signing/record-faults.ts'
import { RecentEntries } from './recent-entries.ts'
import { appendToLog } from './append.ts'

/** How long entries are collected before the log is signed again. */
const GATHER_MS = 1000

/** Extends the log after entries were appended. Appends do not wait for it. */
export class LogWriter {
  /** Entries that this process appended and the log may lack. */
  readonly appended = new RecentEntries()
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> | undefined
  #isClosed = false

  schedule(parts: EvidenceLogParts): void {
    if (this.#isClosed || this.#timer !== undefined || !parts.isServing()) return
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      void this.#run(parts)
    }, GATHER_MS)
    this.#timer.unref()
  }

  /** Runs now, until the log has all entries. */
  async grow(parts: EvidenceLogParts): Promise<void> {
    await appendToLog(parts, this.appended)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    await this.#running
  }

  /** After a failure the next entry tries again, and the job within a minute. */
  async #run(parts: EvidenceLogParts): Promise<void> {
    this.#running ??= this.grow(parts)
      .catch((error: unknown) => {
        // A fault of its rows has already been reported once.
        if (!(error instanceof RecordFault)) parts.log.error('cannot extend the evidence log', { error })
      })
      .finally(() => {
        this.#running = undefined
      })
    await this.#running
  }
}
