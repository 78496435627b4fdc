import { sql } from 'kysely'
import type { Database, Query, Reader } from '../database.ts'
import type { PartitionSet, Room } from './table-lock.ts'

/**
 * Estimates the rows of a table of PostgreSQL as its planner does, without reading it: the rows of a page when the server
 * last counted, times the pages of now. Undefined when the server has never counted, for example after a restore.
 */
export async function estimateRows(db: Reader, table: string): Promise<number | undefined> {
  const { rows } = await sql<{ rows: number | null }>`
    select case when pages = 0 then 0 when relpages > 0 and reltuples >= 0 then reltuples / relpages * pages end as rows
    from (select relpages, reltuples::float8 as reltuples,
        pg_relation_size(oid) / current_setting('block_size')::bigint as pages
      from pg_class where oid = ${table}::regclass) as sizes`.execute(db)
  return rows[0]?.rows ?? undefined
}

/** Events of one partition. */
export const PARTITION_EVENTS = 10_000_000

/** Partitioned, extended and dropped together, and locked in this order. */
export const AUDIT_TABLES = ['audit_events', 'audit_numbers', 'audit_subjects'] as const

/** What one partition has unique. Ids of events are random, and sequences are given under a lock. */
export const AUDIT_KEYS: Readonly<Record<(typeof AUDIT_TABLES)[number], string>> = {
  audit_events: 'primary key (event_id)',
  audit_numbers: 'primary key (sequence), unique (event_id)',
  audit_subjects: 'primary key (subject, created_at, event_id)',
}

/** The record that an audit event names, as the indexes have it. SQLite uses an index only for a text. */
export function auditedDetail(engine: Database['engine'], name: 'treaty_id' | 'rule_id'): string {
  return engine === 'sqlite'
    ? `cast(json_extract(event_json, '$.details.${name}') as text)`
    : `((event_json::json -> 'details') ->> '${name}')`
}

/** With the columns and conditions of the indexes of before, which become parts of these. */
const INDEXES: readonly (readonly [string, string])[] = [
  ['by_type', '(event_type, created_at)'],
  ['by_time', '(created_at)'],
  ['by_xact', '(xact)'],
  ['by_revoked_treaty', `(${auditedDetail('postgres', 'treaty_id')}) where event_type = 'recognition_treaty_revoked'`],
  ['by_removed_rule', `(${auditedDetail('postgres', 'rule_id')}) where event_type = 'admission_rule_removed'`],
  ['operator_changes', "(created_at desc) where event_type = 'operator_keys_changed'"],
]

const room: Room = { readEnd: readRoomEnd, moveEnd: roomBelow }

/** Audit events by their position, which a database sequence gives, with their numbers and subjects. */
export const AUDIT: PartitionSet = {
  job: 'audit-partitions',
  rows: 'audit events',
  tables: AUDIT_TABLES,
  key: 'position',
  least: 0,
  partitionedFrom: 1_000_000,
  // Events of before have no positions, and many stores have no numbers.
  countRows: (db) => estimateRows(db, AUDIT_TABLES[0]),
  newSize: PARTITION_EVENTS,
  size: 'audit_partition_events()',
  readLast: readLastPosition,
  createParents,
  replacement,
  createPartition,
  room,
}

/** The last position given, also by transactions that are not committed. */
export async function readLastPosition(db: Reader): Promise<number> {
  const { rows } = await sql<{ last: number }>`select last_value as last from audit_positions`.execute(db)
  return Number(rows[0]?.last ?? 0)
}

/** The first position without a partition, as inserts see it. */
export async function readRoomEnd(db: Reader): Promise<number> {
  const { rows } = await sql<{ last: number }>`
    select audit_within_room(${String(Number.MAX_SAFE_INTEGER)}::bigint) as last`.execute(db)
  return Number(rows[0]?.last ?? 0) + 1
}

/** The partitioned tables, still under other names. They have no rows, so nothing waits for this. */
async function createParents(tx: Query, size: number): Promise<void> {
  const run = (text: string): Promise<unknown> => sql.raw(text).execute(tx)
  await run(partitionSize(size))
  for (const table of AUDIT_TABLES)
    await run(`create table ${table}_parent (like ${table} including defaults) partition by range (position)`)
  for (const [name, columns] of INDEXES)
    await run(`create index audit_events_all_${name} on audit_events_parent ${columns}`)
}

/**
 * Puts the partitioned tables in place of those of before, which become the first partitions, with all rows below
 * `bound`. Takes milliseconds when checked constraints say so.
 */
function replacement(bound: number): readonly string[] {
  return AUDIT_TABLES.flatMap((table) => [
    `alter table ${table} rename to ${table}_0`,
    `alter table ${table}_parent rename to ${table}`,
    `alter table ${table} attach partition ${table}_0 for values from (0) to (${bound})`,
  ])
}

/** Adds an empty partition to each table. Inserts and reads do not wait for it. */
async function createPartition(tx: Query, from: number, to: number): Promise<void> {
  await attachEmpty(tx, String(from), `from (${from}) to (${to})`)
}

/** Position of events that stay when all others of their partition are removed. */
export const STAYING_POSITION = -1

/** Adds the partition of events that stay. */
export async function createStaying(tx: Query): Promise<void> {
  await attachEmpty(tx, 'staying', 'from (minvalue) to (0)')
}

async function attachEmpty(tx: Query, suffix: string, values: string): Promise<void> {
  const run = (text: string): Promise<unknown> => sql.raw(text).execute(tx)
  for (const table of AUDIT_TABLES) {
    const name = `${table}_${suffix}`
    await run(`create table ${name} (like ${table} including all, ${AUDIT_KEYS[table]})`)
    await run(`alter table ${table} attach partition ${name} for values ${values}`)
  }
}

/** The size of new partitions, which the database has only here. */
export function partitionSize(size: number): string {
  return `create or replace function audit_partition_events() returns bigint language sql immutable
    as 'select ${size}::bigint'`
}

/**
 * Positions from `end` on have no partition yet. Rows with such a position go to the last partition, so no insert fails.
 * The planner puts the text of the function into each statement.
 */
export function roomBelow(end: number): string {
  return `create or replace function audit_within_room(bigint) returns bigint language sql volatile
    as 'select least($1, ${end - 1}::bigint)'`
}
