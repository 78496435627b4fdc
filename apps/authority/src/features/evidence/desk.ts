import { Refusal } from '@chancery/contract'
import { HOUR } from '@chancery/protocol'
import type { ChainedEntry, Instant } from '@chancery/protocol'
import { Batcher } from '@chancery/service-kit'
import type { Office } from '../../office.ts'
import { UnknownOutcome } from '../../store/database.ts'
import type { StoredAnswer } from '../../store/idempotency.ts'
import { translateStoreError } from '../../store/open.ts'
import { LogKeeper } from '../evidence-log/index.ts'
import { AnchorWatch } from './anchor.job.ts'
import { appendTogether } from './append.ts'
import type { AppendItem } from './append.ts'
import { RejectionBook } from './rejections.ts'
import { Inspector } from './inspector.ts'
import { KnownKeys } from './known-keys.ts'

/** As many as share one transaction (reliability 6). */
const MAX_ITEMS = 100
const MAX_WAITING = 2000

/** Where records wait for the chain: whatever arrives while a batch commits shares the next transaction. */
export class EvidenceDesk {
  readonly inspector = new Inspector()
  readonly executorKeys = new KnownKeys()
  readonly rejections = new RejectionBook()
  readonly #anchors = new AnchorWatch()
  readonly #log = new LogKeeper()
  #appends: Batcher<AppendItem, StoredAnswer> | undefined

  /** Answers once the item's own batch is committed; throws its refusal, or 503 when the store could not take it. */
  async append(office: Office, item: AppendItem): Promise<StoredAnswer> {
    if (office.rollbackWatch.isEvidenceBehind) throw new Refusal('evidence_store_unavailable')
    if (item.kind === 'rejection' && this.rejections.isFull(office, item.cause)) {
      this.rejections.add(office.clock.now(), item.code, item.names().submitted_digest)
      throw new Refusal(item.code)
    }
    this.#appends ??= new Batcher((items) => this.#run(office, items), { maxItems: MAX_ITEMS, maxWaiting: MAX_WAITING })
    try {
      return await this.#appends.add(item)
    } catch (error) {
      if (error instanceof Refusal) throw error
      const details = error instanceof UnknownOutcome ? { outcome: 'unknown' } : {}
      throw new Refusal('evidence_store_unavailable', details, { cause: error })
    }
  }

  /** Appends what was counted of refused and repeated submissions in minutes or hours that are over by `now`. */
  async appendSummaries(office: Office, now: Instant = office.clock.now()): Promise<void> {
    await this.rejections.appendEnded(now, (item) => this.append(office, item))
  }

  /** For entries that were appended while no anchor could be made. */
  async anchorNow(office: Office): Promise<void> {
    if (office.settings.evidenceStore) await this.#anchors.runNow(office)
  }

  /** For entries that came while the log could not grow. */
  async growLog(office: Office): Promise<void> {
    if (office.settings.evidenceStore) await this.#log.grow(office)
  }

  /** What was appended here need not be read again before it enters the log. */
  noteAppended(entries: readonly ChainedEntry[]): void {
    this.#log.appended.keep(entries)
  }

  async close(office: Office): Promise<void> {
    // Also those of the minute or hour that is not over: there will be no other chance.
    await this.appendSummaries(office, office.clock.now() + HOUR).catch((error: unknown) =>
      office.log.warn('counts of refused evidence are lost', { error }),
    )
    await this.#appends?.close()
    await this.#anchors.close()
    await this.#log.close()
    await this.inspector.close()
  }

  async #run(office: Office, items: readonly AppendItem[]): Promise<(StoredAnswer | Error)[]> {
    const outcomes = await this.#runApart(office, items)
    this.#anchors.wake(office)
    this.#log.wake(office)
    return outcomes
  }

  /**
   * A record the database itself will not have must not take the others with it: they are then tried one by one. Not
   * so when the database is gone, nor when nobody knows what became of the batch.
   */
  async #runApart(office: Office, items: readonly AppendItem[]): Promise<(StoredAnswer | Error)[]> {
    try {
      return await appendTogether(office, items)
    } catch (error) {
      const isLost = error instanceof UnknownOutcome || translateStoreError(error) !== undefined
      if (isLost || items.length === 1 || !(error instanceof Error)) throw error
      office.log.warn('a batch of evidence was refused by the database', { items: items.length, error })
      const outcomes: (StoredAnswer | Error)[] = []
      for (const item of items)
        outcomes.push(
          ...(await appendTogether(office, [item]).catch((alone: unknown) => [
            alone instanceof Error ? alone : new Error('not appended', { cause: alone }),
          ])),
        )
      return outcomes
    }
  }
}
