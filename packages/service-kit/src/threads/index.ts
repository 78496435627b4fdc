import { constants, getPriority, setPriority } from 'node:os'

/** Somewhat lower than the priority of the process. On an idle processor it makes no difference. */
const LESS_URGENT = 5

/**
 * Lowers the priority of the calling thread, so that the event loop gets the processor first. For threads with long
 * work.
 */
export function lowerThreadPriority(): void {
  // On Linux 0 is the calling thread. On other systems it is the whole process.
  if (process.platform !== 'linux') return
  try {
    setPriority(0, Math.min(getPriority(0) + LESS_URGENT, constants.priority.PRIORITY_LOW))
  } catch {
    // A sandbox may forbid it. All threads then have the same priority, which is slower and still correct.
  }
}

// The entry point of threads: they load nothing else of this package, so that a service starts sooner.
export * from './serve-calls.ts'
export * from './thread.ts'
