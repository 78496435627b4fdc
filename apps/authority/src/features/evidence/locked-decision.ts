import { type BudgetUse, type Instant, writeSortable } from '@chancery/protocol'
import { LockedCounters, type UseEffect } from '../../budgets/counters.ts'
import { lockBudgets } from '../../budgets/counter-rows.ts'
import type { Transaction } from '../../database/database.ts'
import type { BasisVersion } from '../../database/locks/decision-basis.ts'
import type { StoredResponse } from '../../requests/idempotency.ts'
import type { AppendBatch } from './append-batch.ts'
import { type DecisionItem, appendDecision } from './append-decision.ts'
import { type DecisionClaim, claimDecision } from './claim-decision.ts'
import type { EvidenceHeadRow } from './queries/chain.ts'
import type { EvidenceState } from './resources.ts'

/** What a decision under locks may read and change. All of it ends with the transaction. */
export interface LockedState {
  readonly tx: Transaction
  /** The time of the decision, taken after the locks. */
  readonly now: Instant
  readonly counters: LockedCounters
}

/**
 * A decision that depends on counters or approvals. It is evaluated, signed and stored in one transaction that holds
 * their locks (protocol/budgets-and-approvals 6).
 */
export interface LockedDecisionItem extends Pick<DecisionClaim, 'basisVersion' | 'attempt' | 'callerNonce'> {
  readonly kind: 'locked-decision'
  /** Counters that the request asks for, whatever becomes of it. */
  readonly budgetKeys: readonly string[]
  readonly requester: string
  /** Locks rows of approvals, after those of budgets and before the head. Must only lock and read. */
  readonly lock?: (tx: Transaction) => Promise<void>
  /**
   * Decides from what is locked. Calls no other system and reads nothing that is not locked. Throws BasisChangedError
   * when it needs a counter that is not among {@link budgetKeys}.
   */
  readonly evaluate: (state: LockedState) => Promise<EvaluatedDecision>
}

/** An evaluated decision before its signature. */
export interface EvaluatedDecision {
  readonly decision_id: string
  readonly requester: string
  readonly madeAt: string
  /** What its budgets asked for. */
  readonly uses: readonly BudgetUse[]
  /** Undefined: nothing is counted. */
  readonly effect: UseEffect | undefined
  /** Signs, all decisions of a batch at the same time. */
  readonly sign: () => Promise<SignedItem>
}

export interface SignedItem extends Omit<DecisionItem, 'kind' | 'basisVersion' | 'attempt' | 'callerNonce'> {
  /** Entries and rows that follow the justification in the same transaction: those of an approval. */
  readonly append?: (batch: AppendBatch, tx: Transaction) => Promise<void>
}

/** Locks counters of these requests, and counters that executions of these decisions may change. */
export async function lockRows(
  tx: Transaction,
  items: readonly LockedDecisionItem[],
  decisions: readonly string[],
): Promise<void> {
  if (items.length === 0 && decisions.length === 0) return
  const keys = [...new Set(items.flatMap(({ budgetKeys }) => budgetKeys))].toSorted()
  await lockBudgets(tx, { keys, decisions, isBounded: items.length > 0 })
}

interface LockedBatch {
  readonly batch: AppendBatch
  readonly head: EvidenceHeadRow
  readonly basisVersion: BasisVersion | undefined
  readonly items: readonly LockedDecisionItem[]
}

type Outcome = readonly [item: LockedDecisionItem, answer: StoredResponse | Error]

/**
 * Evaluates one after another, so that each decision sees the counters of those before it, signs all of them together,
 * and appends them in the same order.
 */
export async function decideLocked(
  tx: Transaction,
  parts: EvidenceState,
  { batch, head, basisVersion, items }: LockedBatch,
): Promise<readonly Outcome[]> {
  const now = parts.clock.now()
  const keys = [...new Set(items.flatMap(({ budgetKeys }) => budgetKeys))].toSorted()
  const requesters = [...new Set(items.map(({ requester }) => requester))]
  const counters = await LockedCounters.read(tx, parts.settings, { keys, requesters, now, head })
  const under = { batch, basisVersion, now, counters }
  const outcomes: Outcome[] = []
  // A repeat of an idempotency key finds the answer of the first one, which is stored by then.
  for (const round of byAttempt(items)) outcomes.push(...(await decideRound(tx, round, under)))
  for (const event of counters.events) batch.addEvent(event)
  await counters.write(tx)
  return outcomes
}

/** The items in rounds, none of which has an idempotency key twice. */
function byAttempt(items: readonly LockedDecisionItem[]): readonly (readonly LockedDecisionItem[])[] {
  const seen = new Map<string, number>()
  const rounds: LockedDecisionItem[][] = []
  for (const item of items) {
    const name = item.attempt === undefined ? undefined : `${item.attempt.scope} ${item.attempt.key}`
    const round = name === undefined ? 0 : (seen.get(name) ?? 0)
    if (name !== undefined) seen.set(name, round + 1)
    const list = (rounds[round] ??= [])
    list.push(item)
  }
  return rounds
}

interface UnderLocks {
  readonly batch: AppendBatch
  readonly basisVersion: BasisVersion | undefined
  readonly now: Instant
  readonly counters: LockedCounters
}

async function decideRound(
  tx: Transaction,
  items: readonly LockedDecisionItem[],
  { batch, basisVersion, now, counters }: UnderLocks,
): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = []
  const made: {
    readonly item: LockedDecisionItem
    readonly signed: Promise<SignedItem>
    place: (n: number) => void
  }[] = []
  for (const item of items) {
    // Whatever it says, the basis must be the one that was read: a denial would count nothing, an ALLOW would count.
    const claim = { ...item, decision: { authorized: true } }
    const claimed = await claimDecision(tx, { ...claim, answer: NO_ANSWER }, { basisVersion, now: writeSortable(now) })
    if (claimed !== undefined) {
      outcomes.push([item, claimed])
      continue
    }
    const evaluated = await item.evaluate({ tx, now, counters })
    const { decision_id, requester, madeAt, uses, effect } = evaluated
    const placed = effect === undefined ? [] : counters.add(uses, { decision_id, requester, madeAt }, effect)
    const place = (store_sequence: number): void => {
      for (const use of placed) use.store_sequence = store_sequence
    }
    made.push({ item, signed: evaluated.sign(), place })
  }
  // All end before the transaction does, also when one fails.
  const signed = await Promise.allSettled(made.map((each) => each.signed))
  for (const [at, { item, place }] of made.entries()) {
    const result = signed[at]
    if (result?.status !== 'fulfilled') throw result?.reason
    const { append, ...decided } = result.value
    place(batch.nextSequence)
    const answer = await appendDecision(tx, batch, { ...decided, attempt: item.attempt })
    await append?.(batch, tx)
    outcomes.push([item, answer])
  }
  return outcomes
}

const NO_ANSWER: StoredResponse = { status: 0, text: '' }
