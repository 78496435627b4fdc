import {
  CLOCK_TOLERANCE,
  instantOf,
  isCounted,
  readInstant,
  slotOf,
  writeSortable,
  isJsonObject,
} from '@chancery/protocol'
import type { AskedCounter, BudgetCounters, BudgetUse, CounterState, Instant } from '@chancery/protocol'
import type { Selectable } from 'kysely'
import type { AuditEvent } from '../audit/record.ts'
import type { Transaction } from '../database/database.ts'
import type { Tables } from '../database/tables.ts'
import { countOpenKeys, readCounterRows, writeCounterRows } from './counter-rows.ts'
import { keptUntil } from './slots.ts'
import { toBudgetRow, toUseRow } from './use-row.ts'

export interface BudgetSettings {
  readonly budgetsMax: number
  readonly budgetWarningPercent: number
}

/** A budget of a request that is now counted or reserved, with the place of its entry once that is known. */
export interface PlacedUse {
  store_sequence: number
}

interface Counter {
  row: Tables['budgets'] | undefined
  readonly sums: Map<bigint, { amount: bigint; reported: number }>
  readonly open: Tables['budget_uses'][]
  isChanged: boolean
}

/** How a decision counts: at once, or held until an approval ends. */
export type UseEffect =
  | { readonly kind: 'counted'; readonly validUntil: string }
  | { readonly kind: 'held'; readonly validUntil: string; readonly approval_id: string; readonly expires_at: string }

/**
 * The counters of one transaction that holds the locks of their rows and of the head of the store. Decisions of a batch
 * see those before them. Nothing of it outlives the transaction (protocol/budgets-and-approvals 6).
 */
export class LockedCounters {
  readonly #settings: BudgetSettings
  readonly #now: Instant
  readonly #isUsable: boolean
  readonly #newest: Instant
  readonly #counters: ReadonlyMap<string, Counter>
  readonly #openKeys: { all: number; readonly byRequester: Map<string, number> }
  readonly #uses: Tables['budget_uses'][] = []
  readonly #changedSums = new Map<string, Tables['budget_sums']>()
  readonly events: AuditEvent[] = []

  private constructor(read: {
    readonly settings: BudgetSettings
    readonly now: Instant
    readonly isUsable: boolean
    readonly newest: Instant
    readonly counters: ReadonlyMap<string, Counter>
    readonly openKeys: { all: number; readonly byRequester: Map<string, number> }
  }) {
    this.#settings = read.settings
    this.#now = read.now
    this.#isUsable = read.isUsable
    this.#newest = read.newest
    this.#counters = read.counters
    this.#openKeys = read.openKeys
  }

  /** Called under the locks. */
  static async read(
    tx: Transaction,
    settings: BudgetSettings,
    asked: {
      readonly keys: readonly string[]
      readonly requesters: readonly string[]
      readonly now: Instant
      readonly head: Pick<Selectable<Tables['evidence_head']>, 'last_sequence' | 'budget_sequence' | 'last_recorded_at'>
    },
  ): Promise<LockedCounters> {
    const { keys, now, head } = asked
    const rows = await readCounterRows(tx, keys, writeSortable(now - CLOCK_TOLERANCE))
    const counters = new Map<string, Counter>()
    for (const key of keys) counters.set(key, { row: undefined, sums: new Map(), open: [], isChanged: false })
    for (const row of rows.budgets) (counters.get(row.budget_key) as Counter).row = row
    for (const { budget_key, slot, amount, reported } of rows.sums)
      counters.get(budget_key)?.sums.set(BigInt(slot), { amount: BigInt(amount), reported })
    for (const use of rows.open) counters.get(use.budget_key)?.open.push(use)
    const isNew = [...counters.values()].some(({ row }) => row === undefined)
    const openKeys = isNew
      ? await countOpenKeys(tx, asked.requesters, writeSortable(now))
      : { all: 0, byRequester: new Map<string, number>() }
    return new LockedCounters({
      settings,
      now,
      isUsable: head.budget_sequence === head.last_sequence,
      newest: readInstant(head.last_recorded_at ?? '') ?? 0n,
      counters,
      openKeys,
    })
  }

  /** The state as one decision sees it. `replaces`: the approval that the request names. */
  forDecision(requester: string, replaces: string | null = null): DecisionCounters {
    return new DecisionCounters((asked) => this.#state(asked, requester, replaces), new Set(this.#counters.keys()))
  }

  #state(asked: AskedCounter, requester: string, replaces: string | null): CounterState | undefined {
    const counter = this.#counters.get(asked.budget_key)
    if (!this.#isUsable || counter === undefined) return undefined
    if (asked.at < this.#newest - CLOCK_TOLERANCE) return undefined
    if (counter.row === undefined && !this.#hasRoom(requester)) return undefined
    let used = 0n
    for (const [slot, { amount }] of counter.sums) if (isCounted(asked.window, slot, asked.at)) used += amount
    let [reserved, isReplaced] = [0n, false]
    for (const use of counter.open) {
      const isLive = use.state === 'open' && use.live_until !== null && asked.at <= instantOf(use.live_until)
      if (!isLive || !isCounted(asked.window, BigInt(use.slot), asked.at)) continue
      if (replaces !== null && use.approval_id === replaces) isReplaced = true
      else reserved += BigInt(use.asked)
    }
    return { used: used + reserved, reserved, replaces: isReplaced ? replaces : null }
  }

  /** A requester has at most a tenth of all keys, so that none fills the table for the others. */
  #hasRoom(requester: string): boolean {
    const { all, byRequester } = this.#openKeys
    const most = this.#settings.budgetsMax
    return all < most && (byRequester.get(requester) ?? 0) < Math.max(10, Math.floor(most / 10))
  }

  /** Counts or reserves what a decision asked for. The place of its entry is set when it is appended. */
  add(
    uses: readonly BudgetUse[],
    decision: { readonly decision_id: string; readonly requester: string; readonly madeAt: string },
    effect: UseEffect,
  ): readonly PlacedUse[] {
    return uses.flatMap((use) => {
      const counter = this.#counters.get(use.budget_key)
      if (counter === undefined || use.asked === 0n) return []
      const slot = slotOf(use.window, instantOf(decision.madeAt))
      const row = toUseRow({
        use,
        store_sequence: 0,
        decision_id: decision.decision_id,
        slot,
        validUntil: instantOf(effect.validUntil),
        approval:
          effect.kind === 'held'
            ? { approval_id: effect.approval_id, until: instantOf(effect.expires_at), isEnded: false }
            : undefined,
        outcomes: { isDone: false, isFailed: false },
      })
      this.#uses.push(row)
      const sum = counter.sums.get(slot) ?? { amount: 0n, reported: 0 }
      if (row.state === 'counted') sum.amount += use.asked
      else counter.open.push(row)
      this.events.push(...budgetNotice(use, sum, this.#settings.budgetWarningPercent))
      counter.sums.set(slot, sum)
      this.#changedSums.set(`${use.budget_key} ${slot}`, {
        budget_key: use.budget_key,
        slot: row.slot,
        amount: String(sum.amount),
        reported: sum.reported,
        kept_until: writeSortable(keptUntil(use.window, slot)),
      })
      this.#keepRow(counter, use, decision, row.kept_until)
      return [row]
    })
  }

  #keepRow(
    counter: Counter,
    use: BudgetUse,
    { requester, madeAt }: { readonly requester: string; readonly madeAt: string },
    kept: string,
  ): void {
    if (counter.row === undefined) {
      this.#openKeys.all += 1
      this.#openKeys.byRequester.set(requester, (this.#openKeys.byRequester.get(requester) ?? 0) + 1)
    }
    counter.row = toBudgetRow(use, { requester, madeAt: instantOf(madeAt), kept }, counter.row)
    counter.isChanged = true
  }

  /** Ends the reservation of an approval that is used, in the same transaction. */
  release(approval_id: string): void {
    for (const counter of this.#counters.values())
      for (const use of counter.open) if (use.approval_id === approval_id) use.state = 'released'
    this.#released.push(approval_id)
  }

  readonly #released: string[] = []

  /** Writes what changed. The caller commits. */
  async write(tx: Transaction): Promise<void> {
    await writeCounterRows(tx, {
      budgets: [...this.#counters.values()].flatMap(({ row, isChanged }) =>
        isChanged && row !== undefined ? [row] : [],
      ),
      sums: [...this.#changedSums.values()],
      uses: this.#uses,
      released: this.#released,
    })
  }

  get now(): Instant {
    return this.#now
  }
}

/** The counters for one decision. Notes when a counter was asked for that is not locked. */
export class DecisionCounters implements BudgetCounters {
  readonly #read: (asked: AskedCounter) => CounterState | undefined
  readonly #locked: ReadonlySet<string>
  isIncomplete = false

  constructor(read: (asked: AskedCounter) => CounterState | undefined, locked: ReadonlySet<string>) {
    this.#read = read
    this.#locked = locked
  }

  read(asked: AskedCounter): CounterState | undefined {
    if (!this.#locked.has(asked.budget_key)) this.isIncomplete = true
    return this.#read(asked)
  }
}

const WARNED = 1
const EXHAUSTED = 2

/** Events of a use that passes a threshold: once for each counter and window. They have no amount. */
function budgetNotice(
  { budget_key, source, asked, limit, used_before, inputs }: BudgetUse,
  sum: { reported: number },
  warningPercent: number,
): readonly AuditEvent[] {
  const percent = Number(((used_before + asked) * 100n) / limit)
  const level = percent >= 100 ? EXHAUSTED : percent >= warningPercent ? WARNED : 0
  const { window } = inputs
  const name = isJsonObject(window) ? (window['name'] ?? null) : null
  const details = { source, budget_key, window: name, percent }
  const events: AuditEvent[] = []
  if (level >= WARNED && sum.reported < WARNED) events.push({ type: 'budget_warning', details })
  if (level >= EXHAUSTED && sum.reported < EXHAUSTED) events.push({ type: 'budget_exhausted', details })
  sum.reported = Math.max(sum.reported, level)
  return events
}
