import { Thread, ThreadEndedError, ThreadError } from '@chancery/service-kit'
import { LockTimeoutError, DatabaseUnavailableError } from '../errors.ts'
import type { DatabaseLocation } from '../open.ts'

/** The options of every such thread, besides its own. */
export interface DatabaseThreadData {
  readonly place: DatabaseLocation
}

/** Names of errors that mean: the database could not answer (answer-calls.ts). */
const DATABASE_ERRORS: ReadonlySet<string> = new Set([DatabaseUnavailableError.name, LockTimeoutError.name])

/** Long reads in a separate thread, with its own connection. The owner replaces a thread that ended. */
export class DatabaseThread {
  readonly #thread: Thread

  /** `name` is a file next to `from`, without its extension. */
  constructor(name: string, from: string, workerData: DatabaseThreadData) {
    // The environment may hold the signing seed.
    this.#thread = new Thread(name, from, { workerData, env: {} })
  }

  get hasEnded(): boolean {
    return this.#thread.hasEnded
  }

  async call<Value>(operation: string, argument?: unknown): Promise<Value> {
    try {
      return await this.#thread.call<Value>(operation, argument)
    } catch (error) {
      const isDatabaseError = error instanceof ThreadError && DATABASE_ERRORS.has(error.kind)
      if (isDatabaseError || error instanceof ThreadEndedError)
        throw new DatabaseUnavailableError(error.message, { cause: error })
      throw error
    }
  }

  close(): Promise<void> {
    return this.#thread.close()
  }
}
