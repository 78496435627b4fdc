import { randomInt } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Database, Query, Reader, Transaction } from '../database.ts'
import { sqlState } from '../postgres/client.ts'

/** Tables of PostgreSQL that are partitioned together, by the same values of one column. */
export interface PartitionSet {
  /** The job that partitions them and makes the next partitions. */
  readonly job: string
  /** What they have, for the log. */
  readonly rows: string
  /** In the order of locks. All have the same partitions. */
  readonly tables: readonly [string, ...string[]]
  readonly key: string
  /** The least value of the first partition; without it the first partition has no lower bound. */
  readonly least?: number
  /** Tables with fewer rows than this are left as they are. */
  readonly partitionedFrom: number
  /** Rows of the first table, closely, without reading it; undefined while the server has not counted them. */
  readonly countRows: (db: Reader) => Promise<number | undefined>
  /** Values of a new partition, for tables that are not partitioned yet. */
  readonly newSize: number
  /** SQL for the values of a new partition, as the database has them. */
  readonly size: string
  /** The highest value in use. */
  readonly readLast: (db: Reader) => Promise<number>
  /** Creates the partitioned tables, each under its name with `_parent`. */
  readonly createParents: (tx: Query, size: number) => Promise<void>
  /** Statements that put them in place. Rows of before are the partition below `bound`. */
  readonly replacement: (bound: number) => readonly string[]
  readonly createPartition: (tx: Query, from: number, to: number) => Promise<void>
  /** Where rows without a partition go; undefined when the program makes room before it inserts. */
  readonly room?: Room
}

/** The database keeps values below an end, in the last partition. */
export interface Room {
  readonly readEnd: (db: Reader) => Promise<number>
  /** A statement that moves the end. */
  readonly moveEnd: (end: number) => string
}

/** Requests wait behind this lock, so it is given up after this time and asked for again later. */
const LOCK_MS = 100
const ATTEMPTS = 30
const PAUSE_MS = { least: 200, most: 1000 }
const LOCK_NOT_AVAILABLE = '55P03'

/** True when a transaction waited for a lock as long as it may. */
export function isLockTimeout(error: unknown): boolean {
  return sqlState(error) === LOCK_NOT_AVAILABLE
}

export interface LockedChange {
  /** Returns the statements to run with the tables locked; none when there is nothing to do. Requests do not wait yet. */
  readonly plan: (tx: Transaction) => Promise<readonly string[]>
  /** Called after the statements, before COMMIT. */
  readonly onChanged?: () => void
  readonly signal?: AbortSignal | undefined
  readonly attempts?: number
}

/**
 * Changes tables of PostgreSQL with no other transaction in them. Returns false when a long transaction did not leave
 * them in all attempts: then nothing was changed.
 */
export async function changeTables(database: Database, set: PartitionSet, change: LockedChange): Promise<boolean> {
  return withLocks(database, set, 'access exclusive', change)
}

/**
 * Waits until every transaction has ended that has written to the tables. Later ones only wait meanwhile. Returns false
 * when one did not end in all attempts.
 */
export async function waitForWriters(
  database: Database,
  set: PartitionSet,
  options: Pick<LockedChange, 'signal' | 'attempts'>,
): Promise<boolean> {
  return withLocks(database, set, 'share', { ...options, plan: async () => ['select 1'] })
}

async function withLocks(
  database: Database,
  { tables }: PartitionSet,
  mode: 'access exclusive' | 'share',
  { plan, onChanged, signal, attempts = ATTEMPTS }: LockedChange,
): Promise<boolean> {
  const names = tables.map((table) => `only ${table}`).join(', ')
  for (let attempt = 0; attempt < attempts && signal?.aborted !== true; attempt += 1) {
    try {
      await database.write(async (tx) => {
        // A weaker lock first: requests do not wait for it, and an autovacuum of the tables ends for it.
        await sql.raw(`lock table ${names} in share update exclusive mode`).execute(tx.query)
        const statements = await plan(tx)
        if (statements.length === 0) return
        // In one message: requests wait from here on, and must not wait for round trips of a busy process.
        // COMMIT does not wait for the disk. A crash can undo the change, and the next run makes it again.
        const local = [
          // The server waits so long for each table.
          `set local lock_timeout = ${Math.floor(LOCK_MS / tables.length)}`,
          'set local synchronous_commit = off',
        ]
        const locked = [...local, `lock table ${names} in ${mode} mode`, ...statements]
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
