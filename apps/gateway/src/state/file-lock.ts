import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { StateError } from './state-values.ts'

export interface FileLock {
  release(): void
}

/** A process that just ended may still have the lock for a moment. */
const WAIT_MS = 500

/**
 * Locks a state file for one process (protocol/gateway 9.4). It is an operating system lock on a separate file, so that
 * it ends with its process, and read-only checks of the state can run at the same time.
 */
export function acquireFileLock(stateFile: string): FileLock {
  if (!existsSync(stateFile)) throw new StateError('the state file does not exist; --init-state creates it once')
  const lock = new DatabaseSync(`${stateFile}.lock`, { timeout: WAIT_MS })
  try {
    lock.exec('pragma locking_mode = exclusive; begin exclusive')
  } catch (error) {
    lock.close()
    throw new StateError('the state is in use by another process', { cause: error })
  }
  return { release: () => lock.close() }
}
