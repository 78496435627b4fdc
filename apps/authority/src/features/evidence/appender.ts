import { Refusal } from '@chancery/contract'
import { HOUR } from '@chancery/protocol'
import type { ChainedEntry, Instant } from '@chancery/protocol'
import { BatchClosedError, BatchFullError, Batcher } from '@chancery/service-kit'
import type { EvidenceState } from './state.ts'
import { UnknownOutcomeError } from '../../database/database.ts'
import type { StoredResponse } from '../../requests/idempotency.ts'
import { translateDatabaseError } from '../../database/open.ts'
import { AnchorScheduler } from './anchor.job.ts'
import { appendBatch } from './append.ts'
import type { AppendItem } from './append.ts'
import { RejectionBook } from './rejections.ts'
import { StoreVerifier } from './store-verifier.ts'
import { ExecutorKeyCache } from './executor-key-cache.ts'

/** As many as share one transaction (reliability 6). */
const MAX_ITEMS = 100
const MAX_WAITING = 2000

/** Follows the chain. The transparency log is one; evidence does not know it. */
export interface AppendListener {
  /** Called after each commit, with the entries in the order of the chain. */
  onAppended(entries: readonly ChainedEntry[]): void
  /** Called before entries are removed. */
  beforeRemoval(): Promise<void>
}

/** Where records wait for the chain: whatever arrives while a batch commits shares the next transaction. */
export class EvidenceAppender {
  readonly inspector = new StoreVerifier()
  readonly executorKeys = new ExecutorKeyCache()
  readonly rejections = new RejectionBook()
  readonly #anchors = new AnchorScheduler()
  readonly #listeners: AppendListener[] = []
  #appends: Batcher<AppendItem, StoredResponse> | undefined

  /** Answers once the item's own batch is committed; throws its refusal, or 503 when the store could not take it. */
  async append(parts: EvidenceState, item: AppendItem): Promise<StoredResponse> {
    if (parts.rollbackCheck.isEvidenceBehind)
      throw new Refusal('evidence_store_unavailable', { reason: 'evidence_missing' })
    if (item.kind === 'rejection' && this.rejections.isFull(parts, item.cause)) {
      this.rejections.add(parts.clock.now(), item.code, item.names().submitted_digest)
      throw new Refusal(item.code)
    }
    this.#appends ??= new Batcher((items) => this.#run(parts, items), { maxItems: MAX_ITEMS, maxWaiting: MAX_WAITING })
    try {
      return await this.#appends.add(item)
    } catch (error) {
      if (error instanceof Refusal) throw error
      const outcome = error instanceof UnknownOutcomeError ? { outcome: 'unknown' } : {}
      const details = { reason: whyNotAppended(error), ...outcome }
      throw new Refusal('evidence_store_unavailable', details, { cause: error })
    }
  }

  /** Appends what was counted of refused and repeated submissions in minutes or hours that are over by `now`. */
  async appendSummaries(parts: EvidenceState, now: Instant = parts.clock.now()): Promise<void> {
    await this.rejections.appendEnded(now, (item) => this.append(parts, item))
  }

  /** For entries that were appended while no anchor could be made. */
  async anchorNow(parts: EvidenceState): Promise<void> {
    if (parts.settings.evidenceStore) await this.#anchors.runNow(parts)
  }

  subscribe(listener: AppendListener): void {
    this.#listeners.push(listener)
  }

  /** Called after COMMIT, with what was appended. */
  publishAppended(entries: readonly ChainedEntry[]): void {
    for (const listener of this.#listeners) listener.onAppended(entries)
  }

  /** Waits until every listener has all entries: those that are removed now cannot be read later. */
  async prepareRemoval(): Promise<void> {
    for (const listener of this.#listeners) await listener.beforeRemoval()
  }

  async close(parts: EvidenceState): Promise<void> {
    // Also those of the minute or hour that is not over: there will be no other chance.
    await this.appendSummaries(parts, parts.clock.now() + HOUR).catch((error: unknown) =>
      parts.log.warn('counts of refused evidence are lost', { error }),
    )
    await this.#appends?.close()
    await this.#anchors.close()
    await this.inspector.close()
  }

  async #run(parts: EvidenceState, items: readonly AppendItem[]): Promise<(StoredResponse | Error)[]> {
    const outcomes = await this.#runApart(parts, items)
    this.#anchors.wake(parts)
    return outcomes
  }

  /**
   * A record the database itself will not have must not take the others with it: they are then tried one by one. Not
   * so when the database is gone, nor when nobody knows what became of the batch.
   */
  async #runApart(parts: EvidenceState, items: readonly AppendItem[]): Promise<(StoredResponse | Error)[]> {
    try {
      return await appendBatch(parts, items)
    } catch (error) {
      const isLost = error instanceof UnknownOutcomeError || translateDatabaseError(error) !== undefined
      if (isLost || items.length === 1 || !(error instanceof Error)) throw error
      parts.log.warn('a batch of evidence was refused by the database', { items: items.length, error })
      const outcomes: (StoredResponse | Error)[] = []
      for (const item of items)
        outcomes.push(
          ...(await appendBatch(parts, [item]).catch((alone: unknown) => [
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
