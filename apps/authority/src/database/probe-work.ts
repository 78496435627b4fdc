import { randomBytes } from 'node:crypto'
import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { systemClock } from '@chancery/service-kit'
import { sql } from 'kysely'
import { DiskFullError } from './errors.ts'
import type { Query, Transaction } from './database.ts'
import { storeTime } from './latest-times.ts'
import { type TransactOptions, rollBackAfter, withRetries } from './transaction.ts'

/** Less than the next checkpoint of a busy file needs. */
export const LEAST_FREE_BYTES: number = 1 << 20

const writeRow = (query: Query): Promise<void> => storeTime({ query }, 'write-probe', systemClock.now())

/** One row that is changed in place, committed: a standby, a full disk or a read-only file refuses it. */
export const commitProbe = (write: (work: (tx: Transaction) => Promise<void>) => Promise<void>): Promise<void> =>
  write((tx) => writeRow(tx.query))

/** The same, taken back: a standby, a read-only file, or a file that another holds refuses it. */
export const undoneProbe = (query: Query, options: Pick<TransactOptions, 'isRetryable' | 'attempts'>): Promise<void> =>
  withRetries(options, () => rollBackAfter(query, writeRow))

/** The write-ahead log is written over again and again, so that commits go on for a while on a disk that is full. */
export async function checkFreeSpace(path: string): Promise<void> {
  const { bavail, bsize } = await statfs(dirname(path))
  if (bavail * bsize < LEAST_FREE_BYTES)
    throw new DiskFullError(`less than ${LEAST_FREE_BYTES} bytes are free where the SQLite file is`)
}

/** A table of eight pages that is never committed: its files are new, so no free room of another table is used for them. */
export async function growPostgres(query: Query): Promise<void> {
  const table = sql.id(`write_probe_${randomBytes(8).toString('hex')}`)
  await rollBackAfter(query, async (open) => {
    await sql`create table ${table} (filler text)`.execute(open)
    // Short enough to be stored as they are.
    await sql`insert into ${table} select repeat('x', 1900) from generate_series(1, 32)`.execute(open)
  })
}
