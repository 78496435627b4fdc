import type { Log } from '@chancery/service-kit'
import { sql } from 'kysely'
import type { Database, Reader } from '../database.ts'
import { type LeaseParts, withLease } from '../locks/leases.ts'
import { endOf, makeRoom, missingIn, openRoom, readBound, readLayout } from './layout.ts'
import type { PartitionSet } from './partition-set.ts'
import { partitionTables } from './partition-tables.ts'

const LEASE_SECONDS = 300

/** What is to be done about partitions. */
type PartitionWork =
  | { readonly kind: 'partition'; run(signal: AbortSignal): Promise<boolean> }
  | { readonly kind: 'upkeep'; run(): Promise<void> }

/** Partitions tables that have become large while instances serve, and makes the next partition ahead. */
export async function keepPartitions(
  parts: LeaseParts & { readonly log: Log },
  set: PartitionSet,
  signal: AbortSignal,
): Promise<void> {
  const { log } = parts
  const work = await findPartitionWork(parts.database, set)
  if (work === undefined) return
  await withLease(parts, set.job, LEASE_SECONDS, async () => {
    if (work.kind === 'upkeep') return work.run()
    log.info(`${set.rows} are being partitioned; requests are served`)
    if (await work.run(signal)) log.info(`${set.rows} are partitioned`)
    else log.warn(`${set.rows} are not partitioned yet: a long transaction uses the table; tried again in a minute`)
  })
}

/**
 * Finds out whether the tables have to be partitioned, the next partition is missing when half of the last one is used
 * or is not open yet, or the planner has not counted the rows of all partitions for a day, which autovacuum does not do.
 * SQLite has no partitions.
 */
async function findPartitionWork(database: Database, set: PartitionSet): Promise<PartitionWork | undefined> {
  if (database.engine === 'sqlite') return undefined
  const layout = await readLayout(database.read, set)
  if (layout === undefined) return findFirstWork(database, set)
  const last = await set.readLast(database.read)
  const range = { from: last + 1, through: last + Math.ceil(layout.size / 2) }
  const isMissing = missingIn(layout, range).length > 0
  const isShut = set.room !== undefined && (await set.room.readEnd(database.read)) < endOf(layout)
  if (!isMissing && !isShut && !(await isUncounted(database.read, set))) return undefined
  return {
    kind: 'upkeep',
    run: async () => {
      if (isMissing) await database.write((tx) => makeRoom(tx, set, range))
      await database.write((tx) => openRoom(tx, set))
      await countAgain(database, set)
    },
  }
}

/** Small tables stay as they are: partitions cost each statement planning and locks. */
async function findFirstWork(database: Database, set: PartitionSet): Promise<PartitionWork | undefined> {
  const rows = await set.countRows(database.read)
  if (rows === undefined) return { kind: 'upkeep', run: () => countAgain(database, set) }
  // A change that was begun is completed.
  if (rows < set.partitionedFrom && (await readBound(database.read, set)) === undefined) return undefined
  return { kind: 'partition', run: (signal) => partitionTables(database, set, { signal }) }
}

/** Lets the server count. No request waits for it. */
async function countAgain(database: Database, { tables }: PartitionSet): Promise<void> {
  for (const table of tables)
    await database.write(({ query }) => sql`analyze ${sql.table(table)}`.execute(query), { unlimited: true })
}

async function isUncounted(db: Reader, { tables }: PartitionSet): Promise<boolean> {
  const { rows } = await sql<{ uncounted: boolean }>`
    select bool_or(coalesce(
      (select coalesce(last_analyze < now() - interval '1 day', true) from pg_stat_all_tables
        where relid = name::regclass),
      -- Earlier servers do not list partitioned tables there.
      not exists (select 1 from pg_stats where schemaname = current_schema() and tablename = name)
    )) as uncounted from unnest(${tables}::text[]) as t(name)`.execute(db)
  return rows[0]?.uncounted === true
}
