import type { Reader } from '../database.ts'
import {
  PARTITION_ENTRIES,
  createParent,
  createPartition,
  replacement,
} from '../migrations/0047-evidence-partitions.ts'
import type { PartitionSet } from './partition-set.ts'

/** Evidence entries by their sequence. The size of partitions is the argument of a trigger. */
export const EVIDENCE: PartitionSet = {
  job: 'evidence-partitions',
  rows: 'evidence entries',
  tables: ['evidence_entries'],
  key: 'store_sequence',
  newSize: PARTITION_ENTRIES,
  size: `(select split_part(encode(tgargs, 'escape'), '\\000', 1)::bigint from pg_trigger
    where tgrelid = 'evidence_entries'::regclass and tgname = 'evidence_entries_unrepeated')`,
  readLast,
  createParents: createParent,
  replacement,
  createPartition,
}

async function readLast(db: Reader): Promise<number> {
  const row = await db.selectFrom('evidence_head').select('last_sequence').executeTakeFirstOrThrow()
  return Number(row.last_sequence)
}
