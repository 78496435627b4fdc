import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { StateProblem } from './state-problem.ts'

export interface Ownership {
  release(): void
}

/** A process that just ended may need a moment to be gone. */
const WAIT_MS = 500

/**
 * One owner of a state file (protocol/gateway 9.4). The lock is a lock of the operating system on a file of its own, so
 * that it ends with its process however that ends, and read-only checks of the state can run beside it.
 */
export function takeOwnership(stateFile: string): Ownership {
  if (!existsSync(stateFile)) throw new StateProblem('the state file does not exist; --init-state creates it once')
  const lock = new DatabaseSync(`${stateFile}.lock`, { timeout: WAIT_MS })
  try {
    lock.exec('pragma locking_mode = exclusive; begin exclusive')
  } catch (error) {
    lock.close()
    throw new StateProblem('the state is in use by another process', { cause: error })
  }
  return { release: () => lock.close() }
}
