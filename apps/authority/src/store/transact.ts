import { randomInt } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Tx } from './database.ts'
import { UnknownOutcome } from './database.ts'

const ATTEMPTS = 4

export interface TransactOptions {
  /** True for failures after which the whole transaction may be run again. */
  readonly isRetryable: (error: unknown) => boolean
  /** True when a failed COMMIT certainly changed nothing. */
  readonly isRefusedCommit: (error: unknown) => boolean
}

/** begin, work, commit; with the one rule that a COMMIT whose answer was lost is never taken for a failure. */
export async function transactOn<Result>(
  db: Tx,
  work: (tx: Tx) => Promise<Result>,
  options: TransactOptions,
): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await once(db, work, options)
    } catch (error) {
      if (attempt >= ATTEMPTS || !options.isRetryable(error)) throw error
      await pause(randomInt(10, 100))
    }
  }
}

async function once<Result>(db: Tx, work: (tx: Tx) => Promise<Result>, options: TransactOptions): Promise<Result> {
  const tx = await db.startTransaction().execute()
  let result: Result
  try {
    result = await work(tx)
  } catch (error) {
    await rollback(tx)
    throw error
  }
  try {
    await tx.commit().execute()
  } catch (error) {
    if (options.isRefusedCommit(error)) {
      await rollback(tx)
      throw error
    }
    throw new UnknownOutcome('the answer to COMMIT was lost', { cause: error })
  }
  return result
}

/** The cause is already on its way up; a rollback that fails too means the connection is gone, and with it the work. */
async function rollback(tx: { rollback(): { execute(): Promise<void> } }): Promise<void> {
  await tx
    .rollback()
    .execute()
    .catch(() => undefined)
}
