import { Refusal } from '@chancery/contract'
import { HOUR, type Instant } from '@chancery/protocol'
import { BatchClosedError, BatchFullError, Batcher } from '@chancery/service-kit'
import type { EvidenceState } from './state.ts'
import { DiskFullError, UnknownOutcomeError } from '../../database/errors.ts'
import type { StoredResponse } from '../../requests/idempotency.ts'
import { translateDatabaseError } from '../../database/open.ts'
import { AnchorScheduler } from './anchor.job.ts'
import { type AppendItem, appendBatch } from './append.ts'
import { refuseWithoutRoom } from './disk-space.ts'
import { BasisChangedError } from './claim-decision.ts'

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
