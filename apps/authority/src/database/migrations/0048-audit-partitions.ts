import { sql } from 'kysely'
import type { Migration } from '../migration.ts'

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
export const AUDIT_KEYS: Readonly<Record<AuditTable, string>> = {
  audit_events: 'primary key (event_id)',
  audit_numbers: 'primary key (sequence), unique (event_id)',
  audit_subjects: 'primary key (subject, created_at, event_id)',
}

/**
 * PostgreSQL only: the position by which audit events, their numbers and their subjects are partitioned. No row is
 * written, and the tables stay as they are. When they are large, the job audit-partitions changes them while instances
 * serve.
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
