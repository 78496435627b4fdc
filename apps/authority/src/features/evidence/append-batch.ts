import { Refusal, type RefusalCode } from '@chancery/contract'
import {
  CHECKPOINT_SUBJECT,
  asJson,
  canonicalJson,
  chainEntry,
  readInstant,
  rejectionSubject,
  writeInstant,
  writeSortable,
} from '@chancery/protocol'
import type {
  ChainedEntry,
  EntrySubject,
  EvidenceRejection,
  Instant,
  JsonObject,
  LinkedEntry,
  RetentionCheckpoint,
  StoreHead,
} from '@chancery/protocol'
import type { AuditEvent } from '../../audit/record.ts'
import { faultPoint } from '#faults'
import type { DecisionFacts } from './decision-facts.ts'
import type { EvidenceState } from './resources.ts'
import { isInFuture, reportInFuture } from '../../clock/date-after.ts'
import type { Transaction } from '../../database/database.ts'
import { type EvidenceHeadRow, type NewEntry, toStoreHead, writeChain } from './queries/chain.ts'
import type { StoredResponse } from '../../requests/idempotency.ts'
import type { DuplicatesItem, Rejected, SummaryItem } from './rejections.ts'
import { type RejectionRow, insertRejections } from './queries/entries.ts'

const NO_NAMES = { evidence_id: null, decision_id: null, resource_id: null, executor_sovereign_id: null }

/** The entries, events and rejections of one transaction, linked in order. */
export class AppendBatch {
  readonly #parts: EvidenceState
  readonly #entries: NewEntry[] = []
  readonly #events: AuditEvent[] = []
  readonly #rejections: RejectionRow[] = []
  readonly #uncounted: { readonly now: Instant; readonly code: RefusalCode; readonly submitted_digest: string }[] = []
  readonly #duplicates: Instant[] = []
  #rejected = 0
  readonly #recordedAt: Instant
  readonly #lastRecordedAt: string | null
  /** The counters of budgets include every entry up to the head, or only those up to here. */
  readonly #budgetSequence: number | undefined
  #head: StoreHead

  constructor(parts: EvidenceState, head: EvidenceHeadRow) {
    this.#parts = parts
    this.#head = toStoreHead(head)
    this.#lastRecordedAt = head.last_recorded_at
    this.#budgetSequence = head.budget_sequence === head.last_sequence ? undefined : head.budget_sequence
    // An entry is never dated before its predecessor, even when a clock was set back (reliability 8).
    const [now, last] = [parts.clock.now(), readInstant(head.last_recorded_at ?? '') ?? 0n]
    this.#recordedAt = now < last ? last : now
    // Once a minute, because there may be thousands of entries.
    if (isInFuture(last, now) && parts.limits.local.hit('evidence-dated-ahead', 1) === true)
      reportInFuture(parts, 'evidence', last)
  }

  get entries(): readonly ChainedEntry[] {
    return this.#entries
  }

  /** Of the entry that is appended next. */
  get nextSequence(): number {
    return this.#head.store_sequence + 1
  }

  get now(): string {
    return writeSortable(this.#parts.clock.now())
  }

  append(subject: EntrySubject, payload: string, record_digest: string | null, facts?: DecisionFacts): LinkedEntry {
    const linked = chainEntry(this.#head, subject, payload, writeInstant(this.#recordedAt))
    const { entry, entry_digest, line } = linked
    this.#head = { store_sequence: entry.store_sequence, entry_digest }
    this.#entries.push({ entry, entry_digest, line, record_digest, ...(facts === undefined ? {} : { facts }) })
    return linked
  }

  appendCheckpoint(checkpoint: RetentionCheckpoint): LinkedEntry {
    return this.append(CHECKPOINT_SUBJECT, canonicalJson(asJson(checkpoint)), null)
  }

  addEvent(event: AuditEvent): void {
    this.#events.push(event)
  }

  /**
   * Stores a refused submission as an entry, or as a row outside the chain (NA_EVIDENCE_REJECTIONS). For unknown
   * signers the number is limited. The others are counted after this transaction has committed.
   */
  async reject(tx: Transaction, rejected: Rejected): Promise<Refusal> {
    const { code, names } = rejected
    const now = this.#parts.clock.now()
    const { rejections } = this.#parts
    const isStored =
      rejected.executor !== undefined || (await rejections.take(tx, 'rejected', this.#parts, rejected.cause))
    if (isStored) this.#appendRejection(rejected, now, 1)
    else this.#uncounted.push({ now, code, submitted_digest: names.submitted_digest })
    return new Refusal(code)
  }

  /** The counted rejections of unknown signers. It names no caller. */
  summarise({ code, count, submitted_digest }: SummaryItem): StoredResponse {
    const names = { ...NO_NAMES, submitted_digest }
    this.#appendRejection({ code, names, cause: {} }, this.#parts.clock.now(), count)
    return { status: 200, text: '' }
  }

  /** Anyone who has a record may send it again, so the number of separate events is limited. */
  async addDuplicate(tx: Transaction, details: JsonObject, cause: JsonObject): Promise<void> {
    if (await this.#parts.rejections.take(tx, 'duplicate', this.#parts, cause))
      this.addEvent({ type: 'evidence_duplicate', details: { ...details, count: 1 } })
    else this.#duplicates.push(this.#parts.clock.now())
  }

  summariseDuplicates({ count }: DuplicatesItem): StoredResponse {
    this.addEvent({ type: 'evidence_duplicate', details: { count } })
    return { status: 200, text: '' }
  }

  /** Called after COMMIT only: a rolled back batch is tried again. */
  countUncounted(): void {
    for (const { now, code, submitted_digest } of this.#uncounted)
      this.#parts.rejections.add(now, code, submitted_digest)
    for (const now of this.#duplicates) this.#parts.rejections.addDuplicate(now)
  }

  #appendRejection({ code, names, cause, executor }: Rejected, now: Instant, count: number): void {
    const rejection_id = this.#parts.ids.uuid()
    const isTable = this.#parts.settings.evidenceRejections === 'table'
    if (isTable) {
      this.#rejected += count
      if (count === 1) this.#rejections.push({ rejection_id, rejected_at: writeSortable(now), code, ...names })
    } else {
      const verified_executor = executor !== undefined
      const rejection: EvidenceRejection = {
        rejection_id,
        rejected_at: writeInstant(now),
        code,
        count,
        ...names,
        verified_executor,
      }
      this.append(rejectionSubject(rejection, executor?.decision), canonicalJson(asJson(rejection)), null)
    }
    const { submitted_digest: _digest, ...claimed } = names
    // Names chosen by an unauthenticated caller are stored once, in the entry or row.
    const named = executor === undefined ? {} : claimed
    this.addEvent({ type: 'evidence_rejected', details: { rejection_id, code, count, ...named, ...cause } })
  }

  /** Writes the whole batch. The caller commits. */
  async write(tx: Transaction): Promise<void> {
    // All responses came from entries of an earlier attempt.
    if (this.#entries.length === 0 && this.#events.length === 0) return
    const first = this.#entries[0]?.entry.store_sequence
    if (first !== undefined) await this.#parts.room.ensure(tx, this.#head.store_sequence, first)
    const last_recorded_at = this.#entries.length === 0 ? this.#lastRecordedAt : writeSortable(this.#recordedAt)
    await writeChain(tx, {
      entries: this.#entries,
      head: {
        last_sequence: this.#head.store_sequence,
        last_digest: this.#head.entry_digest,
        last_recorded_at,
        budget_sequence: this.#budgetSequence ?? this.#head.store_sequence,
      },
      rejected: this.#rejected,
      audits: this.#parts.audit.toRows(this.#events),
    })
    faultPoint('evidence-inserted')
    await insertRejections(tx, this.#rejections)
    faultPoint('evidence-audited')
  }
}
