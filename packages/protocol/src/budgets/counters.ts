import type { Instant } from '../canonical/time.ts'
import type { Amount } from './amounts.ts'
import type { BudgetWindow } from './windows.ts'

/** A counter that a step asks for. */
export interface AskedCounter {
  readonly budget_key: string
  readonly source: string
  readonly window: BudgetWindow
  readonly at: Instant
}

/** What a counter has before a decision. `reserved` is the part of `used` that may still be released. */
export interface CounterState {
  readonly used: Amount
  readonly reserved: Amount
  /** The approval whose reservation is left out. */
  readonly replaces: string | null
}

/** Where the state of counters comes from. Undefined: it cannot be used, and the step does not pass. */
export interface BudgetCounters {
  read(asked: AskedCounter): CounterState | undefined
}
