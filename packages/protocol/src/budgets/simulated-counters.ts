import type { Instant } from '../canonical/time.ts'
import type { Amount } from './amounts.ts'
import type { AskedCounter, BudgetCounters, CounterState } from './counters.ts'
import { type RecordedStep, readUses } from './budget-use.ts'
import { isCounted, slotOf } from './windows.ts'

/** Counters of a simulation: a state to begin with, and what the simulated requests use. Nothing of it is stored. */
export class SimulatedCounters implements BudgetCounters {
  readonly #begin: ReadonlyMap<string, CounterState>
  readonly #used = new Map<string, Map<bigint, Amount>>()

  /** `begin`: the present state by key; a key without one begins at zero. */
  constructor(begin: ReadonlyMap<string, CounterState> = new Map()) {
    this.#begin = begin
  }

  read({ budget_key, window, at }: AskedCounter): CounterState {
    const { used = 0n, reserved = 0n } = this.#begin.get(budget_key) ?? {}
    let counted = 0n
    for (const [slot, amount] of this.#used.get(budget_key) ?? []) if (isCounted(window, slot, at)) counted += amount
    return { used: used + counted, reserved, replaces: null }
  }

  /** Counts what an allowed request asked for. */
  count(steps: readonly RecordedStep[], at: Instant): void {
    for (const use of readUses(steps)) {
      if (use === undefined) continue
      const slots = this.#used.get(use.budget_key) ?? new Map<bigint, Amount>()
      const slot = slotOf(use.window, at)
      this.#used.set(use.budget_key, slots.set(slot, (slots.get(slot) ?? 0n) + use.asked))
    }
  }
}
