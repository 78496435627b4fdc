import { constants, getPriority, setPriority } from 'node:os'

/** Somewhat lower than the priority of the process. On an idle processor it makes no difference. */
const LESS_URGENT = 5

/**
 * Lets the event loop go first where both want a processor: for threads with long work that no caller awaits by the
 * millisecond. Called by such a thread for itself.
 */
export function lowerThreadPriority(): void {
  // On Linux zero is the calling thread; elsewhere it would be the whole process.
  if (process.platform !== 'linux') return
  try {
    setPriority(0, Math.min(getPriority(0) + LESS_URGENT, constants.priority.PRIORITY_LOW))
  } catch {
    // A sandbox may forbid it. All threads then have the same priority, which is slower and still correct.
  }
}
