import type { Database } from '../database.ts'
import { EVIDENCE } from './evidence-partitions.ts'
import { partitionTables } from './keep-partitions.ts'

/** Partitions a store on PostgreSQL, with small partitions. All its entries must be below half of `size`. */
export async function usePartitionsOf(database: Database, size: number): Promise<void> {
  if (!(await partitionTables(database, EVIDENCE, { size }))) throw new Error('not partitioned')
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
