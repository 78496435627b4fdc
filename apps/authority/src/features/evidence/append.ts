import { Refusal } from '@chancery/contract'
import type { ErrorCode } from '@chancery/contract'
import {
  CHECKPOINT_SUBJECT,
  asJson,
  canonicalJson,
  chainEntry,
  decisionSubject,
  executionSubject,
  readInstant,
  writeInstant,
  writeSortable,
} from '@chancery/protocol'
import type {
  BoundaryDecision,
  ChainedEntry,
  ContextRecord,
  EntrySubject,
  Instant,
  JsonObject,
  JustificationProof,
  RetentionCheckpoint,
  StoreHead,
} from '@chancery/protocol'
import { auditRows } from '../../audit/record.ts'
import type { AuditEvent } from '../../audit/record.ts'
import { faultPoint } from '#faults'
import type { Office } from '../../office.ts'
import { isFarAhead, tellFarAhead } from '../../signing/dating.ts'
import type { Tx } from '../../store/database.ts'
import { lockEvidenceHead, toStoreHead, writeChain } from '../../store/evidence-chain.ts'
import type { EvidenceHeadRow, NewEntry } from '../../store/evidence-chain.ts'
import { findAnswer, keepAnswer } from '../../store/idempotency.ts'
import type { Attempt, StoredAnswer } from '../../store/idempotency.ts'
import { AdmissionDesk } from './admission.ts'
import type { Submission } from './admission.ts'
import { insertRejections } from './store.ts'
import type { RejectionRow } from './store.ts'

/** A signed decision with what it was made from; entries of its justification stand right behind it. */
export interface DecisionItem {
  readonly kind: 'decision'
  readonly decision: BoundaryDecision
  readonly context: ContextRecord
  readonly proof: JustificationProof | undefined
  /** What the deciding route has to say about it; kept in the same transaction. */
  readonly events: readonly AuditEvent[]
  readonly attempt: Attempt | undefined
  readonly answer: StoredAnswer
}

/** What a refused submission may leave behind: names, never its content. */
export type RejectedNames = Pick<
  RejectionRow,
  'submitted_digest' | 'evidence_id' | 'decision_id' | 'resource_id' | 'executor_sovereign_id'
>

export interface ExecutionItem extends Submission {
  readonly kind: 'execution'
  /** C(evidence) as received. */
  readonly payload: string
  readonly names: () => RejectedNames
  readonly cause: JsonObject
}

/** A submission refused before the store was asked. */
export interface RejectionItem {
  readonly kind: 'rejection'
  readonly code: ErrorCode
  readonly names: () => RejectedNames
  readonly cause: JsonObject
}

export type AppendItem = DecisionItem | ExecutionItem | RejectionItem

/**
 * Appends everything that waits in one transaction under the head of the chain (protocol/trust-operations 6.3). An item
 * that must not enter is taken out under the lock; the others go on. Nobody is answered before the commit.
 */
export async function appendTogether(office: Office, items: readonly AppendItem[]): Promise<(StoredAnswer | Error)[]> {
  const { answers: outcomes, entries } = await office.store.transactOften(async (tx) => {
    const head = await lockEvidenceHead(office.store, tx)
    faultPoint('evidence-locked')
    const batch = new AppendBatch(office, head)
    const submissions = items.filter((item) => item.kind === 'execution')
    const desk = submissions.length === 0 ? undefined : await AdmissionDesk.open(office.store, tx, head, submissions)
    const answers: (StoredAnswer | Error)[] = []
    for (const item of items) answers.push(await takeItem(tx, batch, desk, item))
    await batch.keep(tx)
    return { answers, entries: batch.entries }
  })
  office.evidence.noteAppended(entries)
  faultPoint('evidence-committed')
  return outcomes
}

async function takeItem(
  tx: Tx,
  batch: AppendBatch,
  desk: AdmissionDesk | undefined,
  item: AppendItem,
): Promise<StoredAnswer | Error> {
  switch (item.kind) {
    case 'decision':
      return takeDecision(tx, batch, item)
    case 'execution':
      if (desk === undefined) throw new Error('an execution is judged at a desk')
      return takeExecution(batch, desk, item)
    case 'rejection':
      return batch.reject(item.code, item.names(), item.cause)
  }
}

async function takeDecision(tx: Tx, batch: AppendBatch, item: DecisionItem): Promise<StoredAnswer | Error> {
  if (item.attempt !== undefined) {
    try {
      const earlier = await findAnswer(tx, item.attempt, batch.now)
      if (earlier !== undefined) return earlier
    } catch (error) {
      if (error instanceof Refusal) return error
      throw error
    }
    await keepAnswer(tx, item.attempt, item.answer)
  }
  const { decision, context, proof } = item
  const subject = decisionSubject({ decision, context })
  const { entry } = batch.append(subject, canonicalJson(asJson({ decision, context })), null)
  if (proof !== undefined) batch.append({ ...subject, entry_kind: 'justification' }, canonicalJson(asJson(proof)), null)
  const { decision_id } = decision
  batch.tell({ type: 'decision_stored', details: { decision_id, store_sequence: entry.store_sequence } })
  for (const event of item.events) batch.tell(event)
  return item.answer
}

async function takeExecution(
  batch: AppendBatch,
  desk: AdmissionDesk,
  item: ExecutionItem,
): Promise<StoredAnswer | Error> {
  const admission = await desk.judge(item)
  if (admission.kind === 'refused') return batch.reject(admission.code, item.names(), item.cause)
  const { record } = item.received
  const details = {
    evidence_id: record.evidence_id,
    decision_id: record.decision_id,
    resource_id: record.resource_id ?? null,
  }
  if (admission.kind === 'duplicate') {
    const { entry, entry_digest } = admission
    const { store_sequence } = entry
    batch.tell({ type: 'evidence_duplicate', details: { ...details, store_sequence, ...item.cause } })
    return answerOf({ entry, entry_digest }, 'duplicate')
  }
  const added = batch.append(executionSubject(record, admission.decision), item.payload, item.digest)
  desk.admit(item, added)
  const { store_sequence } = added.entry
  batch.tell({ type: 'evidence_recorded', details: { ...details, store_sequence, ...item.cause } })
  return answerOf(added, 'recorded')
}

/** Entry and digest exactly as kept. */
function answerOf(kept: Pick<NewEntry, 'entry' | 'entry_digest'>, status: 'recorded' | 'duplicate'): StoredAnswer {
  const { entry, entry_digest } = kept
  const text = canonicalJson({ entry: asJson(entry), entry_digest, status })
  return { status: status === 'recorded' ? 201 : 200, text }
}

/** The entries, events and rejections of one transaction, linked as they come. */
export class AppendBatch {
  readonly #office: Office
  readonly #entries: NewEntry[] = []
  readonly #events: AuditEvent[] = []
  readonly #rejections: RejectionRow[] = []
  readonly #recordedAt: Instant
  readonly #lastRecordedAt: string | null
  #head: StoreHead

  constructor(office: Office, head: EvidenceHeadRow) {
    this.#office = office
    this.#head = toStoreHead(head)
    this.#lastRecordedAt = head.last_recorded_at
    // An entry is never dated before its predecessor, even when a clock was set back (reliability 8).
    const [now, last] = [office.clock.now(), readInstant(head.last_recorded_at ?? '') ?? 0n]
    this.#recordedAt = now < last ? last : now
    // Once a minute: entries may come by the thousand.
    if (isFarAhead(last, now) && office.processLimiter.hit('evidence-dated-ahead', 1) === true)
      tellFarAhead(office, 'evidence', last)
  }

  get entries(): readonly ChainedEntry[] {
    return this.#entries
  }

  get now(): string {
    return writeSortable(this.#office.clock.now())
  }

  append(subject: EntrySubject, payload: string, record_digest: string | null): NewEntry {
    const chained = { ...chainEntry(this.#head, subject, payload, writeInstant(this.#recordedAt)), record_digest }
    this.#head = { store_sequence: chained.entry.store_sequence, entry_digest: chained.entry_digest }
    this.#entries.push(chained)
    return chained
  }

  appendCheckpoint(checkpoint: RetentionCheckpoint): NewEntry {
    return this.append(CHECKPOINT_SUBJECT, canonicalJson(asJson(checkpoint)), null)
  }

  tell(event: AuditEvent): void {
    this.#events.push(event)
  }

  reject(code: ErrorCode, names: RejectedNames, cause: JsonObject): Refusal {
    const rejection_id = this.#office.ids.uuid()
    this.#rejections.push({ rejection_id, rejected_at: this.now, code, ...names })
    const { submitted_digest: _digest, ...named } = names
    this.tell({ type: 'evidence_rejected', details: { rejection_id, code, ...named, ...cause } })
    return new Refusal(code)
  }

  /** Writes it all; the caller commits. */
  async keep(tx: Tx): Promise<void> {
    // All of it was answered from what an earlier try had left.
    if (this.#entries.length === 0 && this.#events.length === 0) return
    const last_recorded_at = this.#entries.length === 0 ? this.#lastRecordedAt : writeSortable(this.#recordedAt)
    await writeChain(this.#office.store, tx, {
      entries: this.#entries,
      head: {
        last_sequence: this.#head.store_sequence,
        last_digest: this.#head.entry_digest,
        last_recorded_at,
      },
      rejected: this.#rejections.length,
      audits: auditRows(this.#office, this.#events),
    })
    faultPoint('evidence-inserted')
    await insertRejections(tx, this.#rejections)
    faultPoint('evidence-audited')
  }
}
