import { constants, getPriority, setPriority } from 'node:os'

/** Somewhat less urgent than the process was started: where nobody else wants the processor it makes no difference. */
const LESS_URGENT = 5

/**
 * Lets the event loop go first where both want a processor: for threads with long work nobody waits for by the
 * millisecond. Called by such a thread for itself.
 */
export function stepBack(): void {
  // On Linux zero is the calling thread; elsewhere it would be the whole process.
  if (process.platform !== 'linux') return
  try {
    setPriority(0, Math.min(getPriority(0) + LESS_URGENT, constants.priority.PRIORITY_LOW))
  } catch {
    // A sandbox may forbid it. All threads are alike then, which is slower for some and wrong for nobody.
  }
}
