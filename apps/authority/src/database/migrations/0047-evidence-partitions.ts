import { sql } from 'kysely'
import type { Query } from '../database.ts'
import type { Migration } from '../migration.ts'

/** Entries of one partition. */
export const PARTITION_ENTRIES = 10_000_000

/** What one partition has unique. Across partitions the trigger evidence_entries_unrepeated compares the same. */
const UNIQUE = [
  ['one_decision', "(decision_id) where entry_kind = 'decision'"],
  ['one_evidence_id', '(evidence_id) where evidence_id is not null'],
  ['one_position', "(decision_id, exec_sequence_no) where entry_kind = 'execution'"],
  ['one_resource_position', '(resource_id, resource_sequence) where resource_id is not null'],
] as const

const SEARCHED = ['decision_id', 'vendor_id', 'attestation_id', 'capability', 'outcome', 'resource_id']

/**
 * PostgreSQL only: evidence entries in partitions by sequence, so that retention drops whole ones. A store without
 * entries is changed here. Any other is changed by the job evidence-partitions while instances serve, because a
 * migration would hold the table for minutes.
 */
export const evidencePartitions: Migration = {
  version: 47,
  servesFrom: 46,
  async up(tx, { backend }) {
    if (backend === 'sqlite') return
    await createComparison(tx)
    const { rows } = await sql<{ last: number; found: boolean }>`
      select last_sequence as last, exists (select 1 from evidence_entries) as found from evidence_head`.execute(tx)
    const [store] = rows
    if (store?.found !== false) return
    await createParent(tx, PARTITION_ENTRIES)
    for (const statement of replacement(firstBound(store.last, PARTITION_ENTRIES))) await sql.raw(statement).execute(tx)
  },
}

/** Where the partition of all entries of before ends: far enough that the chain does not reach it while they are checked. */
export function firstBound(lastSequence: number, size: number): number {
  return Math.ceil((lastSequence + 1 + Math.max(size / 2, lastSequence / 10)) / size) * size
}

/**
 * A unique index of a partition does not see the others. Appends are made one after the other, under the lock of the
 * head, so what is compared here is complete. Entries of the same partition are not compared: `here` is its first one.
 * Its argument is the size of partitions.
 */
async function createComparison(tx: Query): Promise<void> {
  await sql`create function evidence_entries_unique() returns trigger language plpgsql
    set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
    set plan_cache_mode = force_generic_plan as $$
    declare
      here bigint := (select max(store_sequence) / tg_argv[0]::bigint * tg_argv[0]::bigint from added);
      repeated text;
    begin
      if here is null or here <= 0 then return null; end if;
      select name into repeated from (
        select 'evidence_one_decision' as name from added a join evidence_entries e on e.decision_id = a.decision_id
          where a.entry_kind = 'decision' and e.entry_kind = 'decision'
          and e.store_sequence < here and e.store_sequence <> a.store_sequence
        union all
        select 'evidence_one_evidence_id' from added a join evidence_entries e on e.evidence_id = a.evidence_id
          where e.store_sequence < here and e.store_sequence <> a.store_sequence
        union all
        select 'evidence_one_position' from added a join evidence_entries e
          on e.decision_id = a.decision_id and e.exec_sequence_no = a.exec_sequence_no
          where a.entry_kind = 'execution' and e.entry_kind = 'execution'
          and e.store_sequence < here and e.store_sequence <> a.store_sequence
        union all
        select 'evidence_one_resource_position' from added a join evidence_entries e
          on e.resource_id = a.resource_id and e.resource_sequence = a.resource_sequence
          where e.store_sequence < here and e.store_sequence <> a.store_sequence
      ) as same limit 1;
      if repeated is not null then
        raise unique_violation using message = 'an earlier partition has the same value', constraint = repeated;
      end if;
      return null;
    end $$`.execute(tx)
}

/** The partitioned table, still under another name. It has no entries, so nothing waits for this. */
export async function createParent(tx: Query, size: number): Promise<void> {
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
export function replacement(bound: number): readonly string[] {
  return [
    // The parent has the same trigger, and gives it to every partition.
    'drop trigger evidence_entries_fixed on evidence_entries',
    'alter table evidence_entries rename to evidence_entries_0',
    'alter table evidence_entries_parent rename to evidence_entries',
    `alter table evidence_entries attach partition evidence_entries_0 for values from (minvalue) to (${bound})`,
  ]
}

/** Adds an empty partition. Appends and reads do not wait for it. */
export async function createPartition(tx: Query, from: number, to: number): Promise<void> {
  const run = (text: string): Promise<unknown> => sql.raw(text).execute(tx)
  const name = `evidence_entries_${from}`
  await run(`create table ${name} (like evidence_entries including all)`)
  for (const [index, columns] of UNIQUE) await run(`create unique index ${name}_${index} on ${name} ${columns}`)
  await run(`create trigger evidence_entries_whole before truncate on ${name}
    for each statement execute function evidence_entries_guard()`)
  await run(`alter table evidence_entries attach partition ${name} for values from (${from}) to (${to})`)
}
