import { type BudgetWindow, type Instant, SECOND, instantOf, seconds, windowAt } from '@chancery/protocol'

const BUCKETS = 60n

/** The first instant at which no window counts a slot any more. */
export function keptUntil(window: BudgetWindow, slot: bigint): Instant {
  if (window.kind === 'rolling') return (slot + BUCKETS + 1n) * seconds(window.seconds / Number(BUCKETS))
  return instantOf(windowAt(window, slot * SECOND).until)
}
