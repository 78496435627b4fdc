import { type Instant, instantOf, seconds } from '@chancery/protocol'
import type { EvidenceState } from './state.ts'
import { readEvidenceHead } from './queries/chain.ts'
import { isDatabaseAway } from '../../database/open.ts'
import { withLease } from '../../database/locks/leases.ts'
import { readAnchor } from './anchor-record.ts'
import { makeAnchor } from './anchoring.ts'
import { findLatestAnchor } from './queries/entries.ts'

const LEASE_SECONDS = 120
/** Maximum delay of the next attempt after a failure (protocol/trust-operations 6.12). */
const RETRY_SECONDS = 60

/** Creates anchors automatically: after an append, when the last anchor is older than the interval. */
export class AnchorScheduler {
  readonly #parts: EvidenceState
  #dueAt: Instant = 0n
  #running: Promise<void> | undefined
  #isRequestedAgain = false

  constructor(parts: EvidenceState) {
    this.#parts = parts
  }

  /** Appends do not wait for this. A failure here does not affect the entry. */
  schedule(): void {
    const parts = this.#parts
    const { anchorIntervalSeconds: interval } = parts.settings
    // An entry appended while the last anchor was made may not be covered by it.
    this.#isRequestedAgain = this.#running !== undefined
    if (interval === 0 || this.#isRequestedAgain || parts.clock.now() < this.#dueAt) return
    if (!parts.signing.isAllowed() || !parts.isServing()) return
    this.#running = this.#run(interval).finally(() => {
      this.#running = undefined
      if (this.#isRequestedAgain) this.schedule()
    })
  }

  /** The job also anchors entries that could not be anchored earlier. */
  async runNow(): Promise<void> {
    this.schedule()
    await this.#running
  }

  async close(): Promise<void> {
    await this.#running
  }

  async #run(interval: number): Promise<void> {
    const parts = this.#parts
    const retry = seconds(Math.min(RETRY_SECONDS, interval))
    try {
      this.#dueAt = parts.clock.now() + retry
      const latest = await findLatestAnchor(parts.database.read)
      const next = latest === undefined ? 0n : instantOf(readAnchor(latest).anchored_at) + seconds(interval)
      if (parts.clock.now() < next) {
        this.#dueAt = next
        return
      }
      await withLease(parts, 'evidence-anchor', LEASE_SECONDS, async (lease) => {
        const made = await makeAnchor(parts, { job: 'evidence-anchor' }, lease)
        if (made.status === 'refused') return
        // The first entry of an empty store is anchored immediately.
        this.#dueAt = made.text === null ? 0n : parts.clock.now() + seconds(interval)
      })
    } catch (error) {
      await this.#report(error)
    }
  }

  async #report(error: unknown): Promise<void> {
    const parts = this.#parts
    if (await isDatabaseAway(error, parts.database)) {
      // It would not store the event, either, and the instance reports that it is not ready.
      parts.log.warn('an evidence anchor waits for the database', { error })
      return
    }
    parts.log.error('cannot create an evidence anchor', { error })
    try {
      const { last_sequence: store_sequence } = await readEvidenceHead(parts.database.read)
      const reason = error instanceof Error ? error.name : 'Error'
      const details = { store_sequence, reason, job: 'evidence-anchor' }
      await parts.audit.recordAlone([{ type: 'evidence_anchor_failed', details }])
    } catch (failed) {
      // The database that refused the anchor may refuse the event, too. The log line above is then the only record.
      parts.metrics.auditWriteFailures.increase()
      parts.log.error('cannot store an audit event', { event_type: 'evidence_anchor_failed', error: failed })
    }
  }
}
