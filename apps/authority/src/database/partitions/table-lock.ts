import { randomInt } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Database, Transaction } from '../database.ts'
import { sqlState } from '../postgres/client.ts'

/** Requests wait behind this lock, so it is given up after this time and asked for again later. */
const LOCK_MS = 100
const ATTEMPTS = 30
const PAUSE_MS = { least: 200, most: 1000 }
const LOCK = 'lock table only evidence_entries in access exclusive mode'
const LOCK_NOT_AVAILABLE = '55P03'

/** True when a transaction waited for a lock as long as it may. */
export function isLockTimeout(error: unknown): boolean {
  return sqlState(error) === LOCK_NOT_AVAILABLE
}

export interface LockedChange {
  /** Returns the statements to run with the table locked; none when there is nothing to do. Requests do not wait yet. */
  readonly plan: (tx: Transaction) => Promise<readonly string[]>
  /** Called after the statements, before COMMIT. */
  readonly onChanged?: () => void
  readonly signal?: AbortSignal | undefined
  readonly attempts?: number
}

/**
 * Changes the table of evidence entries on PostgreSQL with no other transaction in it. Returns false when a long
 * transaction did not leave it in all attempts: then nothing was changed.
 */
export async function changeEntriesTable(
  database: Database,
  { plan, onChanged, signal, attempts = ATTEMPTS }: LockedChange,
): Promise<boolean> {
  for (let attempt = 0; attempt < attempts && signal?.aborted !== true; attempt += 1) {
    try {
      await database.write(async (tx) => {
        // A weaker lock first: requests do not wait for it, and an autovacuum of the table ends for it.
        await sql`lock table only evidence_entries in share update exclusive mode`.execute(tx.query)
        const statements = await plan(tx)
        if (statements.length === 0) return
        // In one message: requests wait from here on, and must not wait for round trips of a busy process.
        // COMMIT does not wait for the disk. A crash can undo the change, and the next run makes it again.
        const local = [`set local lock_timeout = ${LOCK_MS}`, 'set local synchronous_commit = off']
        const locked = [...local, LOCK, ...statements]
        await sql.raw(locked.join('; ')).execute(tx.query)
        onChanged?.()
      })
      return true
    } catch (error) {
      if (!isLockTimeout(error)) throw error
    }
    await pause(randomInt(PAUSE_MS.least, PAUSE_MS.most), undefined, { signal }).catch(() => undefined)
  }
  return false
}
