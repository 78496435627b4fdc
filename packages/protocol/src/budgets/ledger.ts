import type { Instant } from '../canonical/time.ts'
import type { JsonValue } from '../canonical/utf8.ts'
import { type Amount } from './amounts.ts'
import type { BudgetEvent } from './budget-events.ts'
import { type BudgetUse, isDoneOutcome, liveAmount, liveReservation } from './budget-use.ts'
import { isCounted, slotOf } from './windows.ts'

/** A use that counts, or counted: with everything that says how much of it is live at a time. */
export interface LedgerUse {
  readonly use: BudgetUse
  readonly store_sequence: number
  readonly decision_id: string
  readonly requester: string
  readonly madeAt: Instant
  readonly validUntil: Instant
  readonly slot: bigint
  /** Undefined for a counted one. */
  readonly approval: Approval | undefined
  readonly outcomes: { isDone: boolean; isFailed: boolean }
}

interface Approval {
  readonly approval_id: string
  until: Instant
  isEnded: boolean
}

interface Counter {
  /** What is used for good, by slot. */
  readonly sums: Map<bigint, Amount>
  /** What may still be released. */
  readonly open: LedgerUse[]
}

interface Taken {
  readonly decision_id: string
  readonly authorized: boolean
  readonly store_sequence: number
  readonly madeAt: Instant
  readonly validUntil: Instant
  readonly context: { readonly [name: string]: JsonValue }
}

const ENDS = ['denied', 'expired', 'cancelled', 'used']

/** All counters, as the entries so far make them (protocol/budgets-and-approvals 6). */
export class BudgetLedger {
  readonly #counters = new Map<string, Counter>()
  readonly #byDecision = new Map<string, LedgerUse[]>()
  readonly #approvals = new Map<string, Approval>()
  readonly #onUse: ((use: LedgerUse) => void) | undefined
  /** The last decision that was denied: it is held when an approval is requested for it. */
  #denied: { readonly uses: readonly BudgetUse[]; readonly taken: Taken } | undefined

  /** `onUse` gets each use that counts, for those who keep more than the counters. */
  constructor(onUse?: (use: LedgerUse) => void) {
    this.#onUse = onUse
  }

  /** Counts what an authorized decision asked for. A denial counts nothing by itself. */
  take(uses: readonly BudgetUse[], taken: Taken): void {
    this.#denied = taken.authorized ? undefined : { uses, taken }
    if (taken.authorized) this.#add(uses, taken, undefined)
  }

  takeApproval({ approval_id, event, decision_id, until }: Extract<BudgetEvent, { kind: 'approval' }>): void {
    if (event === 'requested') {
      const approval = { approval_id, until: until ?? 0n, isEnded: false }
      this.#approvals.set(approval_id, approval)
      if (this.#denied?.taken.decision_id === decision_id) this.#add(this.#denied.uses, this.#denied.taken, approval)
    }
    const approval = this.#approvals.get(approval_id)
    if (approval === undefined) return
    if (event === 'approved' && until !== undefined) approval.until = until
    if (ENDS.includes(event)) approval.isEnded = true
  }

  /** What an executor says about a counted decision. */
  report({ decision_id, executor, outcome }: Extract<BudgetEvent, { kind: 'execution' }>): void {
    for (const each of this.#byDecision.get(decision_id) ?? []) {
      const { settle, asked, budget_key } = each.use
      if (settle === null || !settle.executors.includes(executor) || each.outcomes.isDone) continue
      if (outcome === 'failure') each.outcomes.isFailed = true
      if (!isDoneOutcome(outcome)) continue
      each.outcomes.isDone = true
      const counter = this.#counter(budget_key)
      counter.open.splice(counter.open.indexOf(each), 1)
      addTo(counter.sums, each.slot, asked)
    }
  }

  /** Σ live of the entries so far, and the part that may still be released. */
  stateOf(
    { budget_key, window }: Pick<BudgetUse, 'budget_key' | 'window'>,
    at: Instant,
    replaces: JsonValue | undefined = null,
  ): { readonly used: Amount; readonly reserved: Amount } {
    const counter = this.#counters.get(budget_key)
    if (counter === undefined) return { used: 0n, reserved: 0n }
    let [final, reserved] = [0n, 0n]
    for (const [slot, amount] of counter.sums) if (isCounted(window, slot, at)) final += amount
    for (const each of counter.open) {
      if (!isCounted(window, each.slot, at)) continue
      if (each.approval !== undefined && each.approval.approval_id === replaces) continue
      reserved += liveOf(each, at)
    }
    return { used: final + reserved, reserved }
  }

  #add(uses: readonly BudgetUse[], taken: Taken, approval: Approval | undefined): void {
    for (const use of uses) {
      if (use.asked === 0n) continue
      const { decision_id, store_sequence, madeAt, validUntil, context } = taken
      const asker = context['requester_sovereign_id']
      const requester = typeof asker === 'string' ? asker : ''
      const slot = slotOf(use.window, madeAt)
      const outcomes = { isDone: false, isFailed: false }
      const named = { use, store_sequence, decision_id, requester, madeAt, validUntil, slot, approval, outcomes }
      const counter = this.#counter(use.budget_key)
      if (approval === undefined && use.settle === null) addTo(counter.sums, slot, use.asked)
      else counter.open.push(named)
      if (use.settle !== null && approval === undefined)
        this.#byDecision.set(decision_id, [...(this.#byDecision.get(decision_id) ?? []), named])
      this.#onUse?.(named)
    }
  }

  #counter(key: string): Counter {
    const known = this.#counters.get(key)
    if (known !== undefined) return known
    const counter: Counter = { sums: new Map(), open: [] }
    this.#counters.set(key, counter)
    return counter
  }
}

function addTo(sums: Map<bigint, Amount>, slot: bigint, amount: Amount): void {
  sums.set(slot, (sums.get(slot) ?? 0n) + amount)
}

/** How much of a use that may be released is live at a time. */
export function liveOf({ use, approval, validUntil, outcomes }: LedgerUse, at: Instant): Amount {
  return approval === undefined
    ? liveAmount({ asked: use.asked, settle: use.settle, validUntil, outcomes }, at).amount
    : liveReservation(use.asked, approval.isEnded, approval.until, at).amount
}
