import { sql } from 'kysely'
import type { EvidenceParts } from './parts.ts'
import { readEvidenceHead } from './queries/chain.ts'
import type { Database } from '../../database/database.ts'
import { withLease } from '../../database/locks/leases.ts'
import { makeRoom, missingIn, readLayout } from '../../database/partitions/evidence-partitions.ts'
import { partitionEvidence } from '../../database/partitions/partition-evidence.ts'

const LEASE_SECONDS = 300

/**
 * PostgreSQL only. Partitions a table of an earlier release, makes the next partition when half of the last one is
 * used, and lets the planner count the entries of all partitions once a day, which autovacuum does not do.
 */
export async function keepPartitions(parts: EvidenceParts, signal: AbortSignal): Promise<void> {
  if (parts.database.engine === 'sqlite') return
  const work = await findWork(parts, signal)
  if (work !== undefined) await withLease(parts, 'evidence-partitions', LEASE_SECONDS, work)
}

async function findWork(parts: EvidenceParts, signal: AbortSignal): Promise<(() => Promise<void>) | undefined> {
  const { database } = parts
  const layout = await readLayout(database.read)
  if (layout === undefined) return () => convert(parts, signal)
  const { last_sequence } = await readEvidenceHead(database.read)
  const range = { from: last_sequence + 1, through: last_sequence + Math.ceil(layout.size / 2) }
  const isMissing = missingIn(layout, range).length > 0
  if (!isMissing && !(await isUncounted(database))) return undefined
  return async () => {
    if (isMissing) await database.write((tx) => makeRoom(tx, range))
    await countEntries(database)
  }
}

async function convert(parts: EvidenceParts, signal: AbortSignal): Promise<void> {
  parts.log.info('evidence entries are being partitioned; requests are served')
  if (!(await partitionEvidence(parts.database, { signal })))
    parts.log.warn(
      'evidence entries are not partitioned yet: a long transaction uses the table; tried again in a minute',
    )
  else parts.log.info('evidence entries are partitioned')
}

async function isUncounted({ read }: Database): Promise<boolean> {
  const { rows } = await sql<{ uncounted: boolean }>`
    select coalesce(
      (select coalesce(last_analyze < now() - interval '1 day', true) from pg_stat_all_tables
        where relid = 'evidence_entries'::regclass),
      -- Earlier servers do not list partitioned tables there.
      not exists (select 1 from pg_stats where schemaname = current_schema() and tablename = 'evidence_entries')
    ) as uncounted`.execute(read)
  return rows[0]?.uncounted === true
}

async function countEntries(database: Database): Promise<void> {
  await database.write(({ query }) => sql`analyze evidence_entries`.execute(query), { unlimited: true })
}
