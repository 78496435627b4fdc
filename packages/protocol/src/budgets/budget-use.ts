import { type JsonObject, type JsonValue, isJsonObject } from '../canonical/utf8.ts'
import { type Instant, seconds } from '../canonical/time.ts'
import { type Amount, readRecordedAmount } from './amounts.ts'
import type { AskedCounter, BudgetCounters } from './counters.ts'
import type { BudgetSettle } from './limits.ts'
import { type BudgetWindow, readWindowName } from './windows.ts'

/** A budget step of a decision that asked for an amount, as the step itself says: what is counted is what was signed. */
export interface BudgetUse {
  readonly budget_key: string
  readonly source: string
  readonly measure: JsonObject
  readonly per: JsonObject
  readonly unit: string | null
  readonly window: BudgetWindow
  readonly scale: number
  readonly asked: Amount
  readonly limit: Amount
  readonly used_before: Amount
  readonly counts: 'on_allow' | 'on_execution'
  readonly settle: BudgetSettle | null
  readonly inputs: JsonObject
}

export interface RecordedStep {
  readonly gate_type: string
  readonly inputs: JsonObject
}

export function isBudgetStep({ gate_type }: Pick<RecordedStep, 'gate_type'>): boolean {
  return gate_type === 'budget.v1' || gate_type === 'TreatyBudgetGate'
}

/** True of a step that applies and asked for an amount: only such a step is counted and recomputed. */
export function isCountedStep({ gate_type, inputs }: RecordedStep): boolean {
  return isBudgetStep({ gate_type }) && inputs['applies'] === true && inputs['asked'] !== null
}

/** What the steps of a decision ask for. Undefined entries are steps whose members have another form. */
export function readUses(steps: readonly RecordedStep[]): readonly (BudgetUse | undefined)[] {
  return steps.filter(isCountedStep).map(({ inputs }) => readUse(inputs))
}

/** The scale of a recorded measure; undefined when it is no measure. */
export function scaleOf(measure: JsonValue | undefined): number | undefined {
  if (!isJsonObject(measure)) return undefined
  const { kind, scale } = measure
  if (kind === 'count') return 0
  return kind === 'sum' && typeof scale === 'number' && Number.isSafeInteger(scale) ? scale : undefined
}

function readUse(inputs: JsonObject): BudgetUse | undefined {
  const { budget_key, source, measure, per, unit, window: named, counts } = inputs
  const scale = scaleOf(measure)
  const name = isJsonObject(named) ? named['name'] : undefined
  const window = typeof name === 'string' ? readWindowName(name) : undefined
  if (scale === undefined || window === undefined || !isJsonObject(measure) || !isJsonObject(per)) return undefined
  const amount = (member: string): Amount | undefined => readRecordedAmount(inputs[member], scale)
  const [asked, limit, used_before] = [amount('asked'), amount('limit'), amount('used_before')]
  const settle = readSettle(inputs['settle'])
  const isNamed = typeof budget_key === 'string' && typeof source === 'string'
  if (!isNamed || !(unit === null || typeof unit === 'string') || settle === undefined) return undefined
  if (asked === undefined || limit === undefined || used_before === undefined) return undefined
  if (counts !== (settle === null ? 'on_allow' : 'on_execution')) return undefined
  return { budget_key, source, measure, per, unit, window, scale, asked, limit, used_before, counts, settle, inputs }
}

/** Undefined: another form. */
function readSettle(value: JsonValue | undefined): BudgetSettle | null | undefined {
  if (value === null) return null
  if (!isJsonObject(value)) return undefined
  const { executors, seconds: length } = value
  const isList = Array.isArray(executors) && executors.every((each) => typeof each === 'string')
  return isList && typeof length === 'number' ? { executors, seconds: length } : undefined
}

/** What an entry contributes at a time, and whether that may still be released. */
export interface LiveAmount {
  readonly amount: Amount
  readonly open: boolean
}

const NONE: LiveAmount = { amount: 0n, open: false }

/** A counted decision with what executors reported about it so far. */
export interface CountedUse {
  readonly asked: Amount
  readonly settle: BudgetSettle | null
  readonly validUntil: Instant
  /** Outcomes of execution entries by the executors of the budget. */
  readonly outcomes: { readonly isDone: boolean; readonly isFailed: boolean }
}

/** live(E, n, t) of a counted decision (protocol/budgets-and-approvals 6). */
export function liveAmount({ asked, settle, validUntil, outcomes }: CountedUse, at: Instant): LiveAmount {
  if (settle === null || outcomes.isDone) return { amount: asked, open: false }
  return at <= liveUntil(validUntil, settle, outcomes.isFailed) ? { amount: asked, open: true } : NONE
}

/** The last instant at which an amount without a report of success counts. A failure releases nothing before the end. */
export function liveUntil(validUntil: Instant, { seconds: length }: BudgetSettle, isFailed: boolean): Instant {
  return isFailed ? validUntil : validUntil + seconds(length)
}

/** live of a reservation: until its approval ends, or its time comes. */
export function liveReservation(asked: Amount, isEnded: boolean, until: Instant, at: Instant): LiveAmount {
  return !isEnded && at < until ? { amount: asked, open: true } : NONE
}

/** Words of an execution that show that a counted amount was used. */
export function isDoneOutcome(outcome: string): boolean {
  return outcome === 'success' || outcome === 'partial'
}

/** Notes which counters a request asks for, so that they can be locked. Every one of them lets the request pass. */
export class CounterNotes implements BudgetCounters {
  readonly asked = new Map<string, AskedCounter>()

  read(asked: AskedCounter): { used: Amount; reserved: Amount; replaces: null } {
    this.asked.set(asked.budget_key, asked)
    return { used: 0n, reserved: 0n, replaces: null }
  }
}

/** The numbers that a trace recorded, to compute its verdicts again. */
export function recordedCounters(trace: readonly RecordedStep[]): BudgetCounters {
  const steps = new Map(trace.filter(isBudgetStep).map(({ inputs }) => [inputs['budget_key'], inputs]))
  return {
    read({ budget_key }) {
      const inputs = steps.get(budget_key)
      const scale = scaleOf(inputs?.['measure'])
      if (inputs === undefined || scale === undefined) return undefined
      const used = readRecordedAmount(inputs['used_before'], scale)
      const reserved = readRecordedAmount(inputs['reserved_before'], scale)
      const { replaces } = inputs
      if (used === undefined || reserved === undefined) return undefined
      return { used, reserved, replaces: typeof replaces === 'string' ? replaces : null }
    },
  }
}
