import { setTimeout as pause } from 'node:timers/promises'

/** Repeats a check until it does not fail. Returns false when it still fails after the given time. */
export async function waitUntilPassed(check: () => Promise<unknown>, seconds: number): Promise<boolean> {
  const end = performance.now() + seconds * 1000
  for (;;) {
    const hasPassed = await check().then(
      () => true,
      () => false,
    )
    if (hasPassed || performance.now() > end) return hasPassed
    await pause(100)
  }
}
