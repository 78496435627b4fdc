import { sql } from 'kysely'
import type { Database, Query, Reader, Transaction } from '../database.ts'
import type { PartitionSet } from './table-lock.ts'
import { makeRoom } from './layout.ts'

/** What one partition has unique. Across partitions the trigger evidence_entries_unrepeated compares the same. */
const UNIQUE = [
  ['one_decision', "(decision_id) where entry_kind = 'decision'"],
  ['one_evidence_id', '(evidence_id) where evidence_id is not null'],
  ['one_position', "(decision_id, exec_sequence_no) where entry_kind = 'execution'"],
  ['one_resource_position', '(resource_id, resource_sequence) where resource_id is not null'],
] as const

const SEARCHED = ['decision_id', 'vendor_id', 'attestation_id', 'capability', 'outcome', 'resource_id']

/** Evidence entries by their sequence. The size of partitions is the argument of a trigger. */
export const EVIDENCE: PartitionSet = {
  job: 'evidence-partitions',
  rows: 'evidence entries',
  tables: ['evidence_entries'],
  key: 'store_sequence',
  partitionedFrom: 1_000_000,
  countRows,
  newSize: 10_000_000,
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

/** Sequences have no gaps, and retention removes the lowest. */
async function countRows(db: Reader): Promise<number> {
  const head = await db
    .selectFrom('evidence_head')
    .select(['last_sequence', 'removed_through'])
    .executeTakeFirstOrThrow()
  return Number(head.last_sequence) - Number(head.removed_through)
}

/** The partitioned table, still under another name. It has no entries, so nothing waits for this. */
async function createParent(tx: Query, size: number): Promise<void> {
  const run = (text: string): Promise<unknown> => sql.raw(text).execute(tx)
  await run(`create table evidence_entries_parent (like evidence_entries,
    constraint evidence_entries_key primary key (store_sequence)) partition by range (store_sequence)`)
  // With the same columns and conditions as the indexes of before, which then become parts of these.
  for (const column of SEARCHED)
    await run(`create index evidence_entries_by_${column} on evidence_entries_parent (${column}, store_sequence)
      where ${column} is not null`)
  await run('create index evidence_entries_by_kind on evidence_entries_parent (entry_kind, store_sequence)')
  await run('create index evidence_entries_by_time on evidence_entries_parent (recorded_at, store_sequence)')
  await run(`create trigger evidence_entries_fixed before update or delete on evidence_entries_parent
    for each row execute function evidence_entries_guard()`)
  await run(`create trigger evidence_entries_whole before truncate on evidence_entries_parent
    for each statement execute function evidence_entries_guard()`)
  await run(`create trigger evidence_entries_unrepeated after insert on evidence_entries_parent
    referencing new table as added for each statement execute function evidence_entries_unique('${size}')`)
}

/**
 * Puts the partitioned table in place of the one of before, which becomes its first partition, with all entries below
 * `bound`. Takes milliseconds when a checked constraint says so.
 */
function replacement(bound: number): readonly string[] {
  return [
    // The parent has the same trigger, and gives it to every partition.
    'drop trigger evidence_entries_fixed on evidence_entries',
    'alter table evidence_entries rename to evidence_entries_0',
    'alter table evidence_entries_parent rename to evidence_entries',
    `alter table evidence_entries attach partition evidence_entries_0 for values from (minvalue) to (${bound})`,
  ]
}

/** Adds an empty partition. Appends and reads do not wait for it. */
async function createPartition(tx: Query, from: number, to: number): Promise<void> {
  const run = (text: string): Promise<unknown> => sql.raw(text).execute(tx)
  const name = `evidence_entries_${from}`
  await run(`create table ${name} (like evidence_entries including all)`)
  for (const [index, columns] of UNIQUE) await run(`create unique index ${name}_${index} on ${name} ${columns}`)
  await run(`create trigger evidence_entries_whole before truncate on ${name}
    for each statement execute function evidence_entries_guard()`)
  await run(`alter table evidence_entries attach partition ${name} for values from (${from}) to (${to})`)
}

/** Whether the next entries have a partition. The job evidence-partitions makes them ahead; an append never fails for it. */
export class EntryRoom {
  #knownThrough: number

  constructor({ engine }: Pick<Database, 'engine'>) {
    this.#knownThrough = engine === 'sqlite' ? Number.POSITIVE_INFINITY : 0
  }

  /** Called under the lock of the chain, before entries up to this one are added. */
  async ensure(tx: Transaction, through: number, from: number): Promise<void> {
    if (through > this.#knownThrough) this.#knownThrough = await makeRoom(tx, EVIDENCE, { from, through })
  }
}
