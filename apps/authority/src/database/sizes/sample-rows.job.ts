import { DAY, type Instant, readInstant, writeSortable } from '@chancery/protocol'
import type { Reader } from '../database.ts'
import { type LeaseParts, withLease } from '../locks/leases.ts'
import { countTables } from './measure-tables.ts'
import type { TableName } from './table-ends.ts'

/** Days that samples are stored. */
const STORED_DAYS = 32n
const LEASE_SECONDS = 300
/** Growth is compared with a sample of at least this age, and of a week at most. */
const COMPARED_DAYS = 7n

function startOfDay(now: Instant): Instant {
  return now - (now % DAY)
}

/** Stores the number of rows of every table once a day, so that doctor can show how fast each grows. */
export async function sampleRows(parts: LeaseParts): Promise<void> {
  const now = parts.clock.now()
  const day = writeSortable(startOfDay(now))
  if (await hasSample(parts.database.read, day)) return
  await withLease(parts, 'table-rows', LEASE_SECONDS, async () => {
    const counts = await countTables(parts.database)
    const rows = [...counts].map(([table_name, row_count]) => ({ table_name, day, row_count }))
    await parts.database.write(async ({ query }) => {
      await query
        .insertInto('table_rows')
        .values(rows)
        .onConflict((conflict) => conflict.doNothing())
        .execute()
      // Samples of a clock that was ahead, too.
      await query
        .deleteFrom('table_rows')
        .where((eb) => eb.or([eb('day', '<', writeSortable(startOfDay(now) - STORED_DAYS * DAY)), eb('day', '>', day)]))
        .execute()
    })
  })
}

async function hasSample(db: Reader, day: string): Promise<boolean> {
  const row = await db.selectFrom('table_rows').select('day').where('day', '=', day).limit(1).executeTakeFirst()
  return row !== undefined
}

/** Returns by how many rows each table grew per day, since the oldest sample of the last week. */
export async function readGrowth(
  db: Reader,
  counts: ReadonlyMap<TableName, number>,
  now: Instant,
): Promise<ReadonlyMap<TableName, number>> {
  const from = writeSortable(now - COMPARED_DAYS * DAY)
  const samples = await db
    .selectFrom('table_rows')
    .select(['table_name', 'day', 'row_count'])
    .where('day', '>=', from)
    .where('day', '<', writeSortable(startOfDay(now)))
    .orderBy('day', 'desc')
    .execute()
  const growth = new Map<TableName, number>()
  // The oldest sample of a table comes last.
  for (const { table_name, day, row_count } of samples) {
    const table = table_name as TableName
    const days = Number(now - (readInstant(day) ?? now)) / Number(DAY)
    const rows = counts.get(table)
    if (rows !== undefined && days > 0) growth.set(table, (rows - Number(row_count)) / days)
  }
  return growth
}
