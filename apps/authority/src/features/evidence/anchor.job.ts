import { instantOf, seconds } from '@chancery/protocol'
import type { Instant } from '@chancery/protocol'
import { recordAudit } from '../../audit/record.ts'
import type { Office } from '../../office.ts'
import { mayMakeSignatures } from '../../signing/seal.ts'
import { readEvidenceHead } from '../../store/evidence-chain.ts'
import { withLease } from '../../store/leases.ts'
import { readAnchor } from './anchor-record.ts'
import { makeAnchor } from './anchoring.ts'
import { findLatestAnchor } from './store.ts'

const LEASE_SECONDS = 120
/** After a failure the next try comes no later (protocol/trust-operations 6.12). */
const RETRY_SECONDS = 60

/** Makes anchors by themselves: after an append, when the last anchor is older than the interval. */
export class AnchorWatch {
  #dueAt: Instant = 0n
  #running: Promise<void> | undefined
  #isAskedAgain = false

  /** Not waited for by appends: whatever goes wrong here, the entry stands. */
  wake(office: Office): void {
    const { anchorIntervalSeconds: interval } = office.settings
    // An entry that came while the last anchor was made may not be under it.
    this.#isAskedAgain = this.#running !== undefined
    if (interval === 0 || this.#isAskedAgain || office.clock.now() < this.#dueAt) return
    if (!mayMakeSignatures(office) || !office.isServing()) return
    this.#running = this.#run(office, interval).finally(() => {
      this.#running = undefined
      if (this.#isAskedAgain) this.wake(office)
    })
  }

  /** The job: also anchors what was appended while nobody could. */
  async runNow(office: Office): Promise<void> {
    this.wake(office)
    await this.#running
  }

  async close(): Promise<void> {
    await this.#running
  }

  async #run(office: Office, interval: number): Promise<void> {
    const retry = seconds(Math.min(RETRY_SECONDS, interval))
    try {
      this.#dueAt = office.clock.now() + retry
      const latest = await findLatestAnchor(office.store.db)
      const next = latest === undefined ? 0n : instantOf(readAnchor(latest).anchored_at) + seconds(interval)
      if (office.clock.now() < next) {
        this.#dueAt = next
        return
      }
      await withLease(office, 'evidence-anchor', LEASE_SECONDS, async (lease) => {
        const made = await makeAnchor(office, { job: 'evidence-anchor' }, lease)
        if (made.status === 'refused') return
        // An empty store has nothing to wait for: its first entry is anchored at once.
        this.#dueAt = made.text === null ? 0n : office.clock.now() + seconds(interval)
      })
    } catch (error) {
      await this.#tell(office, error)
    }
  }

  async #tell(office: Office, error: unknown): Promise<void> {
    office.log.error('an anchor could not be made', { error })
    try {
      const { last_sequence: store_sequence } = await readEvidenceHead(office.store.db)
      const reason = error instanceof Error ? error.name : 'Error'
      await recordAudit(office.store.db, office, {
        type: 'evidence_anchor_failed',
        details: { store_sequence, reason, job: 'evidence-anchor' },
      })
    } catch (failed) {
      // The database that refused the anchor may refuse the event, too; the log line above stands.
      office.metrics.auditWriteFailures.increase()
      office.log.error('an audit event could not be stored', { event_type: 'evidence_anchor_failed', error: failed })
    }
  }
}
