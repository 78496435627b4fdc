import { sql } from 'kysely'
import type { Database, Reader } from '../database.ts'
import { makeRoom, missingIn, readLayout } from './evidence-partitions.ts'
import { partitionEvidence } from './partition-evidence.ts'

/** What is to be done about the partitions of evidence entries. */
export type PartitionWork =
  | { readonly kind: 'partition'; run(signal: AbortSignal): Promise<boolean> }
  | { readonly kind: 'upkeep'; run(): Promise<void> }

/**
 * Finds out whether the table of an earlier release has to be partitioned, the next partition is missing when half of
 * the last one is used, or the planner has not counted the entries of all partitions for a day, which autovacuum does
 * not do. SQLite has no partitions.
 */
export async function findPartitionWork(database: Database, lastSequence: number): Promise<PartitionWork | undefined> {
  if (database.engine === 'sqlite') return undefined
  const layout = await readLayout(database.read)
  if (layout === undefined) return { kind: 'partition', run: (signal) => partitionEvidence(database, { signal }) }
  const range = { from: lastSequence + 1, through: lastSequence + Math.ceil(layout.size / 2) }
  const isMissing = missingIn(layout, range).length > 0
  if (!isMissing && !(await isUncounted(database.read))) return undefined
  return {
    kind: 'upkeep',
    run: async () => {
      if (isMissing) await database.write((tx) => makeRoom(tx, range))
      await database.write(({ query }) => sql`analyze evidence_entries`.execute(query), { unlimited: true })
    },
  }
}

async function isUncounted(db: Reader): Promise<boolean> {
  const { rows } = await sql<{ uncounted: boolean }>`
    select coalesce(
      (select coalesce(last_analyze < now() - interval '1 day', true) from pg_stat_all_tables
        where relid = 'evidence_entries'::regclass),
      -- Earlier servers do not list partitioned tables there.
      not exists (select 1 from pg_stats where schemaname = current_schema() and tablename = 'evidence_entries')
    ) as uncounted`.execute(db)
  return rows[0]?.uncounted === true
}
