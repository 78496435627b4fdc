import { Refusal, type RefusalCode } from '@chancery/contract'
import { asJson, canonicalJson, executionSubject } from '@chancery/protocol'
import type { JsonObject, LinkedEntry } from '@chancery/protocol'
import { faultPoint } from '#faults'
import type { EvidenceState } from './resources.ts'
import type { Transaction } from '../../database/database.ts'
import { lockEvidenceHead } from './queries/chain.ts'
import { findNamed } from './queries/lookups.ts'
import type { StoredResponse } from '../../requests/idempotency.ts'
import { type BasisVersion, holdBasisVersion } from '../../database/locks/decision-basis.ts'
import { type ViolationItem, appendViolation, claimDecision } from './claim-decision.ts'
import { type Submission, SubmissionChecker, namedIds } from './check-submission.ts'
import { AppendBatch } from './append-batch.ts'
import { type DecisionItem, appendDecision } from './append-decision.ts'
import { type LockedDecisionItem, decideLocked, lockRows } from './locked-decision.ts'
import type { DuplicatesItem, RejectionFields, SummaryItem } from './rejections.ts'
import { settleExecution } from '../../budgets/settle-execution.ts'

/** Another change that appends entries. It checks everything before it writes, and throws its refusal. */
export interface ChangeItem {
  readonly kind: 'change'
  /** The decision whose counters it may change. */
  readonly decision_id: string
  readonly change: (tx: Transaction, batch: AppendBatch) => Promise<void>
}

export interface ExecutionItem extends Submission {
  readonly kind: 'execution'
  /** C(evidence) as received. */
  readonly payload: string
  readonly names: () => RejectionFields
  readonly cause: JsonObject
}

/** A submission that was refused before the store was read. */
export interface RejectionItem {
  readonly kind: 'rejection'
  readonly code: RefusalCode
  readonly names: () => RejectionFields
  readonly cause: JsonObject
}

export type AppendItem =
  | DecisionItem
  | LockedDecisionItem
  | ExecutionItem
  | RejectionItem
  | SummaryItem
  | DuplicatesItem
  | ViolationItem
  | ChangeItem

const LOST = new Error('an item of the batch got no answer')

/**
 * Appends all queued items in one transaction under the lock of the chain (protocol/trust-operations 6.3). An invalid
 * item is refused under the lock; the others continue. No response is sent before the commit.
 */
export async function appendBatch(
  parts: EvidenceState,
  items: readonly AppendItem[],
): Promise<(StoredResponse | Error)[]> {
  const submissions = items.filter((item) => item.kind === 'execution')
  const named = namedIds(submissions)
  const locked = items.filter((item) => item.kind === 'locked-decision')
  const isAllowing = locked.length > 0 || items.some((item) => item.kind === 'decision' && item.decision.authorized)
  const {
    answers: outcomes,
    batch: stored,
    head: before,
    basisVersion,
  } = await parts.database.write(
    async (tx) => {
      // Sent together: the second waits for the lock of the first, and sees what the last holder committed. Rows of
      // budgets come first, then those of approvals, then the head: every transaction locks in this order.
      const changed = items.flatMap((item) => (item.kind === 'change' ? [item.decision_id] : []))
      const rows = lockRows(tx, locked, [...named.decisions, ...changed])
      if (locked.some(({ lock }) => lock !== undefined)) await rows
      for (const { lock } of locked) await lock?.(tx)
      const [, head, basis, state] = await Promise.all([
        rows,
        lockEvidenceHead(tx),
        isAllowing ? holdBasisVersion(tx) : undefined,
        submissions.length === 0 ? undefined : findNamed(tx, named, parts.storeSize.entries),
      ])
      faultPoint('evidence-locked')
      const batch = new AppendBatch(parts, head)
      const checker = state === undefined ? undefined : await SubmissionChecker.open(tx, head, state)
      const answers = new Map<AppendItem, StoredResponse | Error>()
      for (const item of items)
        if (item.kind !== 'locked-decision')
          answers.set(item, await appendItem(tx, batch, { checker, basisVersion: basis }, item))
      if (locked.length > 0)
        for (const [item, answer] of await decideLocked(tx, parts, { batch, head, basisVersion: basis, items: locked }))
          answers.set(item, answer)
      await batch.write(tx)
      return { answers: items.map((item) => answers.get(item) ?? LOST), batch, head, basisVersion: basis }
    },
    { cachedPlans: true, pipelined: true, room: 'growth' },
  )
  parts.storeSize.entries = before.last_sequence
  if (basisVersion !== undefined) parts.lastBasis.version = basisVersion
  parts.listeners.publishAppended(stored.entries)
  stored.countUncounted()
  faultPoint('evidence-committed')
  return outcomes
}

async function appendItem(
  tx: Transaction,
  batch: AppendBatch,
  { checker, basisVersion }: { checker: SubmissionChecker | undefined; basisVersion: BasisVersion | undefined },
  item: Exclude<AppendItem, LockedDecisionItem>,
): Promise<StoredResponse | Error> {
  switch (item.kind) {
    case 'decision':
      return (await claimDecision(tx, item, { basisVersion, now: batch.now })) ?? appendDecision(tx, batch, item)
    case 'execution':
      if (checker === undefined) throw new Error('an execution needs a submission checker')
      return appendExecution(tx, batch, checker, item)
    case 'usage_violation':
      return appendViolation(tx, batch, item)
    case 'rejection':
      return batch.reject(tx, { code: item.code, names: item.names(), cause: item.cause })
    case 'summary':
      return batch.summarise(item)
    case 'duplicates':
      return batch.summariseDuplicates(item)
    case 'change':
      return appendChange(tx, batch, item)
  }
}

async function appendExecution(
  tx: Transaction,
  batch: AppendBatch,
  checker: SubmissionChecker,
  item: ExecutionItem,
): Promise<StoredResponse | Error> {
  const admission = await checker.check(item)
  if (admission.kind === 'refused') {
    const { code, executor } = admission
    return batch.reject(tx, {
      code,
      names: item.names(),
      cause: item.cause,
      ...(executor === undefined ? {} : { executor }),
    })
  }
  const { record } = item.received
  const details = {
    evidence_id: record.evidence_id,
    decision_id: record.decision_id,
    resource_id: record.resource_id ?? null,
  }
  if (admission.kind === 'duplicate') {
    const { entry, entry_digest } = admission
    const { store_sequence } = entry
    const entryText = canonicalJson(asJson(entry))
    await batch.addDuplicate(tx, { ...details, store_sequence, ...item.cause }, item.cause)
    return responseOf({ entryText, entry_digest }, 'duplicate')
  }
  const added = batch.append(executionSubject(record, admission.decision), item.payload, item.digest)
  checker.admit(item, added)
  for (const event of await settleExecution(tx, record, batch.now)) batch.addEvent(event)
  const { store_sequence } = added.entry
  batch.addEvent({ type: 'evidence_recorded', details: { ...details, store_sequence, ...item.cause } })
  return responseOf(added, 'recorded')
}

async function appendChange(
  tx: Transaction,
  batch: AppendBatch,
  { change }: ChangeItem,
): Promise<StoredResponse | Error> {
  try {
    await change(tx, batch)
    return { status: 200, text: '' }
  } catch (error) {
    if (error instanceof Refusal) return error
    throw error
  }
}

/** Entry and digest exactly as stored. */
function responseOf(
  { entryText, entry_digest }: Pick<LinkedEntry, 'entryText' | 'entry_digest'>,
  status: 'recorded' | 'duplicate',
): StoredResponse {
  const text = `{"entry":${entryText},"entry_digest":${canonicalJson(entry_digest)},"status":"${status}"}`
  return { status: status === 'recorded' ? 201 : 200, text }
}
