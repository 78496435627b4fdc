import { endOfLoopTurn } from '@chancery/service-kit'
import type { KyselyPlugin } from 'kysely'

const LONG_TURN_MS = 10

/**
 * SQLite responds without waiting, so callers that wait for each other's transactions would run one after the other in
 * one turn of the event loop, and no request would be read meanwhile. After 10 ms the next statement waits for the next
 * turn.
 */
export class LoopTurns {
  #start: number | undefined

  /** Returns what the next statement must wait for, undefined when it need not wait. */
  wait(): Promise<void> | undefined {
    if (this.#start === undefined) {
      this.#start = performance.now()
      setImmediate(() => {
        this.#start = undefined
      })
      return undefined
    }
    return performance.now() - this.#start > LONG_TURN_MS ? endOfLoopTurn() : undefined
  }

  /** For statements of the query builder. */
  plugin(): KyselyPlugin {
    return {
      transformQuery: ({ node }) => node,
      transformResult: async ({ result }) => {
        await this.wait()
        return result
      },
    }
  }
}
