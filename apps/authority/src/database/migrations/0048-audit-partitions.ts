import { sql } from 'kysely'
import type { Query } from '../database.ts'
import type { Migration } from '../migration.ts'
import { auditedTreaty } from './0021-revoked-treaties.ts'
import { auditedRule } from './0042-removed-rules.ts'

/** Events of one partition. */
export const PARTITION_EVENTS = 10_000_000

/** Partitioned, extended and dropped together, and locked in this order. */
export const AUDIT_TABLES = ['audit_events', 'audit_numbers', 'audit_subjects'] as const

type AuditTable = (typeof AUDIT_TABLES)[number]

/** Without partitions positions have no end. The largest integer that the program reads exactly. */
const NO_END = Number.MAX_SAFE_INTEGER

/** Numbers and subjects are inserted without the position of their event: they take the last one given. */
const LAST_POSITION = "audit_within_room(pg_sequence_last_value('audit_positions'::regclass))"

const POSITIONS: Readonly<Record<AuditTable, string>> = {
  audit_events: "audit_within_room(nextval('audit_positions'::regclass))",
  audit_numbers: LAST_POSITION,
  audit_subjects: LAST_POSITION,
}

/** What one partition has unique. Ids of events are random, and sequences are given under a lock. */
const UNIQUE: Readonly<Record<AuditTable, string>> = {
  audit_events: 'primary key (event_id)',
  audit_numbers: 'primary key (sequence), unique (event_id)',
  audit_subjects: 'primary key (subject, created_at, event_id)',
}

/** With the columns and conditions of the indexes of before, which become parts of these. */
const INDEXES: readonly (readonly [string, string])[] = [
  ['by_type', '(event_type, created_at)'],
  ['by_time', '(created_at)'],
  ['by_xact', '(xact)'],
  ['by_revoked_treaty', `(${auditedTreaty('postgres')}) where event_type = 'recognition_treaty_revoked'`],
  ['by_removed_rule', `(${auditedRule('postgres')}) where event_type = 'admission_rule_removed'`],
  ['operator_changes', "(created_at desc) where event_type = 'operator_keys_changed'"],
]

/**
 * PostgreSQL only: audit events, their numbers and their subjects in partitions by position, so that retention drops
 * whole ones. A store without events is changed here. Any other gets the column only, without writing its rows, and is
 * changed by the job audit-partitions while instances serve.
 */
export const auditPartitions: Migration = {
  version: 48,
  servesFrom: 46,
  async up(tx, { backend }) {
    if (backend === 'sqlite') return
    const run = (text: string): Promise<unknown> => sql.raw(text).execute(tx)
    await run('create sequence audit_positions')
    // So that it has a last value. Rows of before have position 0.
    await run("select nextval('audit_positions')")
    await run(partitionSize(PARTITION_EVENTS))
    await run(roomBelow(NO_END))
    await run(SEQUENCE_GRANTS)
    for (const table of AUDIT_TABLES) {
      // A constant, so that no row is written.
      await run(`alter table ${table} add column position bigint not null default 0`)
      await run(`alter table ${table} alter column position set default ${POSITIONS[table]}`)
    }
    const { rows } = await sql<{ found: boolean }>`
      select exists (select 1 from audit_events) or exists (select 1 from audit_numbers)
        or exists (select 1 from audit_subjects) as found`.execute(tx)
    if (rows[0]?.found !== false) return
    await createParents(tx, PARTITION_EVENTS)
    for (const statement of [...replacement(PARTITION_EVENTS), roomBelow(PARTITION_EVENTS)]) await run(statement)
  },
}

/** A role that may insert events, such as one for exports, continues to. */
const SEQUENCE_GRANTS = `do $$ declare other record; begin
  for other in select distinct a.grantee from pg_class c, aclexplode(c.relacl) a
    where c.oid in ('audit_events'::regclass, 'audit_numbers'::regclass)
      and a.privilege_type = 'INSERT' and a.grantee <> c.relowner loop
    execute format('grant usage on sequence audit_positions to %s',
      case when other.grantee = 0 then 'public' else quote_ident(pg_get_userbyid(other.grantee)) end);
  end loop; end $$`

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

/** The partitioned tables, still under other names. They have no rows, so nothing waits for this. */
export async function createParents(tx: Query, size: number): Promise<void> {
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
export function replacement(bound: number): readonly string[] {
  return AUDIT_TABLES.flatMap((table) => [
    `alter table ${table} rename to ${table}_0`,
    `alter table ${table}_parent rename to ${table}`,
    `alter table ${table} attach partition ${table}_0 for values from (0) to (${bound})`,
  ])
}

/** Adds an empty partition to each table. Inserts and reads do not wait for it. */
export async function createPartition(tx: Query, from: number, to: number): Promise<void> {
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
    await run(`create table ${name} (like ${table} including all, ${UNIQUE[table]})`)
    await run(`alter table ${table} attach partition ${name} for values ${values}`)
  }
}
