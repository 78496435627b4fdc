import { ChanceryError } from '../errors.ts'

/** Another process uses this folder. */
export class InUseError extends ChanceryError {
  override readonly name: string = 'InUseError'
}

export interface Ownership {
  release(): void
}

/** A process that has just ended may still have the lock for a moment. */
const WAIT_MS = 500

/**
 * One owner at a time. The operating system locks a separate file, so that the lock ends with its process
 * in every case. A file with a process id would stay after a crash.
 */
export function acquireFileLock(lockFile: string): Ownership {
  // Loaded here: Node.js 22 prints a warning when a program loads it.
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite')
  const lock = new DatabaseSync(lockFile, { timeout: WAIT_MS })
  try {
    lock.exec('pragma locking_mode = exclusive; begin exclusive')
  } catch (error) {
    lock.close()
    throw new InUseError('another process uses this folder', { cause: error })
  }
  return { release: () => lock.close() }
}
