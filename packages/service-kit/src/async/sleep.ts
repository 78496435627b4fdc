import { setTimeout } from 'node:timers/promises'

/** Waits, or returns early when the signal aborts. Never rejects: the caller checks the signal. */
export function sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
  return setTimeout(milliseconds, undefined, { signal }).catch((error: unknown) => {
    if (!signal.aborted) throw error
  })
}
