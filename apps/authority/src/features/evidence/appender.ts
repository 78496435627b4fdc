import { Refusal } from '@chancery/contract'
import { HOUR, type Instant, instantOf, seconds } from '@chancery/protocol'
import { BatchClosedError, BatchFullError, Batcher } from '@chancery/service-kit'
import type { EvidenceState } from './resources.ts'
import { DiskFullError, LockTimeoutError, UnknownOutcomeError } from '../../database/errors.ts'
import type { StoredResponse } from '../../requests/idempotency.ts'
import { isDatabaseAway, translateDatabaseError } from '../../database/open.ts'
import { type AppendItem, appendBatch } from './append.ts'
import { BasisChangedError } from './claim-decision.ts'
import { readEvidenceHead } from './queries/chain.ts'
import { withLease } from '../../database/locks/leases.ts'
import { type EvidenceParts, readAnchor } from './store-verifier.ts'
import { makeAnchor } from './anchoring.ts'
import { findLatestAnchor } from './queries/entries.ts'

const LEASE_SECONDS = 120
/** Maximum delay of the next attempt after a failure (protocol/trust-operations 6.12). */
const RETRY_SECONDS = 60

/** Creates anchors automatically: after an append, when the last anchor is older than the interval. */
class AnchorScheduler {
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

/** Callers cause decisions and evidence in any number, so these end first on a disk that fills up. */
export async function refuseWithoutRoom({ database }: Pick<EvidenceParts, 'database'>): Promise<void> {
  const reason = await database.room.refusesGrowth()
  if (reason !== undefined) throw new Refusal('disk_space_low', { reason })
}

/** Maximum number of items in one transaction (reliability 6). */
const MAX_ITEMS = 100
const MAX_WAITING = 2000

/** Queue of records for the chain. Records that arrive while a batch commits share the next transaction. */
export class EvidenceAppender {
  readonly #parts: EvidenceState
  readonly #anchors: AnchorScheduler
  readonly #appends: Batcher<AppendItem, StoredResponse>

  constructor(parts: EvidenceState) {
    this.#parts = parts
    this.#anchors = new AnchorScheduler(parts)
    this.#appends = new Batcher((items) => this.#run(items), { maxItems: MAX_ITEMS, maxWaiting: MAX_WAITING })
  }

  /**
   * Resolves when the batch of the item is committed. Throws its refusal, or 503 when the store could not append it.
   */
  async append(item: AppendItem): Promise<StoredResponse> {
    const { clock, rejections, rollback } = this.#parts
    if (rollback.isEvidenceBehind) throw new Refusal('evidence_store_unavailable', { reason: 'evidence_missing' })
    await refuseWithoutRoom(this.#parts)
    if (item.kind === 'rejection' && rejections.isFull(this.#parts, item.cause)) {
      rejections.add(clock.now(), item.code, item.names().submitted_digest)
      throw new Refusal(item.code)
    }
    try {
      return await this.#appends.add(item)
    } catch (error) {
      if (error instanceof Refusal || error instanceof BasisChangedError) throw error
      if (item.kind === 'locked-decision' && translateDatabaseError(error) instanceof LockTimeoutError)
        throw new Refusal('service_unavailable', { reason: 'lock_timeout' }, { cause: error })
      const outcome = error instanceof UnknownOutcomeError ? { outcome: 'unknown' } : {}
      if (error instanceof DiskFullError) throw new Refusal('disk_space_low', { reason: 'disk_full' }, { cause: error })
      const details = { reason: whyNotAppended(error), ...outcome }
      throw new Refusal('evidence_store_unavailable', details, { cause: error })
    }
  }

  /** Appends the counts of refused and repeated submissions for minutes or hours that ended before `now`. */
  async appendSummaries(now: Instant = this.#parts.clock.now()): Promise<void> {
    await this.#parts.rejections.appendEnded(now, (item) => this.append(item))
  }

  /** For entries that were appended while no anchor could be made. */
  async anchorNow(): Promise<void> {
    if (this.#parts.settings.evidenceStore) await this.#anchors.runNow()
  }

  async close(): Promise<void> {
    const { clock, log } = this.#parts
    // Includes the current minute or hour, because the process stops.
    await this.appendSummaries(clock.now() + HOUR).catch((error: unknown) =>
      log.warn('counts of refused evidence lost', { error }),
    )
    await this.#appends.close()
    await this.#parts.dailyBytes
      .flush()
      .catch((error: unknown) => log.warn('the last counts of stored bytes are lost', { error }))
    await this.#anchors.close()
  }

  async #run(items: readonly AppendItem[]): Promise<(StoredResponse | Error)[]> {
    const outcomes = await this.#runApart(items)
    this.#anchors.schedule()
    return outcomes
  }

  /**
   * When the database refuses a record, the records of its batch are tried one by one, so that the others succeed. Not
   * when the database is unavailable, or when the outcome of the commit is unknown.
   */
  async #runApart(items: readonly AppendItem[]): Promise<(StoredResponse | Error)[]> {
    try {
      return await appendBatch(this.#parts, items)
    } catch (error) {
      const isLost = error instanceof UnknownOutcomeError || translateDatabaseError(error) !== undefined
      if (isLost || items.length === 1 || !(error instanceof Error)) throw error
      this.#parts.log.warn('the database refused a batch of evidence', { items: items.length, error })
      const outcomes: (StoredResponse | Error)[] = []
      for (const item of items)
        outcomes.push(
          ...(await appendBatch(this.#parts, [item]).catch((alone: unknown) => [
            alone instanceof Error ? alone : new Error('not appended', { cause: alone }),
          ])),
        )
      return outcomes
    }
  }
}

function whyNotAppended(error: unknown): string {
  if (error instanceof BatchFullError || error instanceof BatchClosedError) return 'overloaded'
  const isOfStore = error instanceof UnknownOutcomeError || translateDatabaseError(error) !== undefined
  return isOfStore ? 'database_unavailable' : 'append_failed'
}
