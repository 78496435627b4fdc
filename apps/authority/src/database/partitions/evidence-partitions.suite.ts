import { sql } from 'kysely'
import type { Database } from '../database.ts'
import { rowsOf } from '../../testing/rows.suite.ts'

/** Makes the partitions of a store on PostgreSQL small. All its entries must be below `size`. */
export async function usePartitionsOf(database: Database, size: number): Promise<void> {
  const run = (text: string): Promise<unknown> => sql.raw(text).execute(rowsOf(database))
  await run('alter table evidence_entries detach partition evidence_entries_0')
  await run(`alter table evidence_entries attach partition evidence_entries_0 for values from (minvalue) to (${size})`)
  await run('drop trigger evidence_entries_unrepeated on evidence_entries')
  await run(`create trigger evidence_entries_unrepeated after insert on evidence_entries
    referencing new table as added for each statement execute function evidence_entries_unique('${size}')`)
}

/** One row of a store that need not verify. */
export function entryRow(store_sequence: number, more: Readonly<Record<string, string | number>> = {}) {
  return {
    store_sequence,
    entry_kind: 'decision',
    recorded_at: '2026-01-01T00:00:00.000000Z',
    entry_digest: `digest-${store_sequence}`,
    decision_id: `decision-${store_sequence}`,
    line: `{"store_sequence":${store_sequence}}`,
    ...more,
  }
}
