import { setTimeout as pause } from 'node:timers/promises'
import type { ManualClock } from '@chancery/testkit'

/** Shorter waits are not those between runs of jobs and refreshes that matter to a day. */
const LONG_MS = 50_000
const FACTOR = 10_000
const LEAST_MS = 200

/**
 * Shortens the long waits of this process, so that jobs and refreshes of services in it run by themselves while a case
 * lets days pass on their clock. Those waits are spread by chance, so they are no whole numbers, and time limits are:
 * these keep their length, as do the threads of the services. Returns what ends it.
 */
export function shortenLongWaits(): () => void {
  const real = globalThis.setTimeout
  const quick = (work: (...given: unknown[]) => void, ms = 0, ...given: unknown[]): NodeJS.Timeout =>
    real(work, ms < LONG_MS || Number.isInteger(ms) ? ms : Math.max(LEAST_MS, ms / FACTOR), ...given)
  globalThis.setTimeout = Object.assign(quick, real) as typeof globalThis.setTimeout
  return () => {
    globalThis.setTimeout = real
  }
}

/** Lets hours pass one by one. After each, `settled` must become true before the next one begins. */
export async function passHours(
  clock: ManualClock,
  hours: number,
  { settled, look }: { readonly settled: () => Promise<boolean>; readonly look: (hour: number) => Promise<void> },
): Promise<void> {
  for (let hour = 1; hour <= hours; hour += 1) {
    clock.advance(3600)
    const end = performance.now() + SETTLED_MS
    while (!(await settled())) {
      if (performance.now() > end) throw new Error(`the jobs of hour ${hour} did not run within ${SETTLED_MS / 1000} s`)
      await pause(20)
    }
    await look(hour)
  }
}

const SETTLED_MS = 60_000
