import { sql } from 'kysely'
import type { Database, Reader, Transaction } from '../database/database.ts'

/**
 * Sequences for audit events, so that a reader of events after a sequence never misses one. Neither time nor order of
 * insertion is enough: a transaction may commit after others that began later. SQLite has one writer, and a trigger
 * assigns sequences inside its transaction. On PostgreSQL sequences are assigned later, under a lock, to committed
 * events without one. Events of transactions below the oldest running one need not be read again.
 */
export async function assignSequences(database: Database, batch = 2000): Promise<void> {
  if (database.engine === 'sqlite') return
  while (await database.write((tx) => numberSome(tx, batch)));
}

/**
 * Assigns sequences to events that a copy from PostgreSQL brought to SQLite without: readers there see only numbered
 * events. They are committed, so any order after the numbered ones is correct.
 */
export async function numberCopiedEvents(tx: Transaction): Promise<void> {
  await sql`
    insert into audit_numbers (event_id)
    select event_id from audit_events where event_id not in (select event_id from audit_numbers)
    order by created_at, event_id`.execute(tx.query)
}

export interface NumberedEvent {
  readonly sequence: number
  readonly event_id: string
  readonly event_type: string
  readonly event_json: string
}

/** The next events after a sequence, in order. */
export function readNumbered(db: Reader, after: number, limit: number): Promise<readonly NumberedEvent[]> {
  return db
    .selectFrom('audit_numbers')
    .innerJoin('audit_events', 'audit_events.event_id', 'audit_numbers.event_id')
    .select(['audit_numbers.sequence', 'audit_numbers.event_id', 'audit_events.event_type', 'audit_events.event_json'])
    .where('audit_numbers.sequence', '>', after)
    .orderBy('audit_numbers.sequence')
    .limit(limit)
    .execute()
}

/** The event with a sequence. A number may be stored longer than its event, and is none then. */
export async function findNumber(db: Reader, sequence: number): Promise<string | undefined> {
  const row = await db
    .selectFrom('audit_numbers')
    .innerJoin('audit_events', 'audit_events.event_id', 'audit_numbers.event_id')
    .select('audit_numbers.event_id')
    .where('audit_numbers.sequence', '=', sequence)
    .executeTakeFirst()
  return row?.event_id
}

/** The highest assigned sequence, 0 before the first. A removal never removes it. */
export async function findLastNumber(db: Reader): Promise<number> {
  const row = await db
    .selectFrom('audit_numbers')
    .select((eb) => eb.fn.max('sequence').as('last'))
    .executeTakeFirst()
  return Number(row?.last ?? 0)
}

/** The position of the slowest reader; 0 without one. */
export async function leastPosition(db: Reader): Promise<number> {
  const row = await db
    .selectFrom('audit_forwards')
    .select((eb) => eb.fn.min('sequence').as('sequence'))
    .executeTakeFirst()
  return Number(row?.sequence ?? 0)
}

interface Progress {
  readonly last_sequence: number
  /**
   * Every event of a lower transaction has its sequence. Null while events without a transaction number may be left.
   */
  readonly from_xact: number | null
  readonly server: string | null
  readonly this_server: string
}

/** Assigns one batch. Returns true when there may be more. */
async function numberSome(tx: Transaction, batch: number): Promise<boolean> {
  // A database copied from SQLite, where a trigger assigns sequences, has no such row yet.
  await sql`insert into audit_numbering (id, last_sequence) values (1, 0) on conflict do nothing`.execute(tx.query)
  // The lock first: the statements after it see everything that its last owner assigned.
  await sql`select 1 from audit_numbering where id = 1 for update`.execute(tx.query)
  const { rows } = await sql<Progress>`
    select last_sequence, from_xact, server,
      (select system_identifier from pg_control_system()) || '/' || (select oid from pg_database where datname = current_database()) as this_server
    from audit_numbering where id = 1`.execute(tx.query)
  const progress = rows[0]
  if (progress === undefined) throw new Error('audit_numbering has no row')
  if (progress.server !== progress.this_server) return adopt(tx, progress, batch)
  return progress.from_xact === null ? numberOld(tx, progress, batch) : numberNew(tx, progress.from_xact, batch)
}

/**
 * Another server has other transaction numbers: after a logical restore the numbers in the rows have no meaning.
 * Visible events are committed, so they are marked as old. Then all events are read once.
 */
async function adopt(tx: Transaction, { this_server, server }: Progress, batch: number): Promise<boolean> {
  const cleared =
    server === null
      ? 0
      : (
          await sql`update audit_events set xact = null where event_id in (select event_id from audit_events where xact is not null limit ${batch})`.execute(
            tx.query,
          )
        ).numAffectedRows
  if (Number(cleared ?? 0) === batch) return true
  await sql`update audit_numbering set server = ${this_server}, from_xact = null where id = 1`.execute(tx.query)
  return true
}

async function numberOld(tx: Transaction, _progress: Progress, batch: number): Promise<boolean> {
  const { rows } = await sql<{ event_id: string }>`
    select event_id from audit_events e
    where xact is null and not exists (select 1 from audit_numbers n where n.event_id = e.event_id)
    order by created_at, event_id limit ${batch}`.execute(tx.query)
  await storeSequences(
    tx,
    rows.map((row) => row.event_id),
  )
  if (rows.length < batch) await sql`update audit_numbering set from_xact = 0 where id = 1`.execute(tx.query)
  return true
}

async function numberNew(tx: Transaction, fromXact: number, batch: number): Promise<boolean> {
  // One statement, one snapshot: it finds all events committed below its oldest running transaction.
  const { rows } = await sql<{ oldest: number; event_id: string | null; xact: number | null }>`
    with horizon as (select pg_snapshot_xmin(pg_current_snapshot())::text::bigint as oldest)
    select oldest, e.event_id, e.xact from horizon left join lateral (
      select event_id, xact from audit_events a
      where xact >= ${fromXact} and not exists (select 1 from audit_numbers n where n.event_id = a.event_id)
      order by xact, created_at, event_id limit ${batch}
    ) e on true order by e.xact`.execute(tx.query)
  const found = rows.flatMap(({ event_id, xact }) => (event_id === null ? [] : [{ event_id, xact: xact ?? 0 }]))
  await storeSequences(
    tx,
    found.map((row) => row.event_id),
  )
  const isFull = found.length === batch
  const oldest = rows[0]?.oldest ?? fromXact
  const reached = isFull ? Math.min(oldest, found.at(-1)?.xact ?? fromXact) : oldest
  await sql`update audit_numbering set from_xact = ${Math.max(reached, fromXact)} where id = 1`.execute(tx.query)
  return isFull
}

async function storeSequences(tx: Transaction, eventIds: readonly string[]): Promise<void> {
  if (eventIds.length === 0) return
  await sql`
    with numbered as (
      insert into audit_numbers (sequence, event_id)
      select (select coalesce(max(sequence), 0) from audit_numbers) + n, id
      from unnest(${eventIds}::text[]) with ordinality as t(id, n)
    )
    update audit_numbering set last_sequence = (select coalesce(max(sequence), 0) from audit_numbers) + ${eventIds.length} where id = 1`.execute(
    tx.query,
  )
}

/** Prefix of positions of named exports, which run from time to time and are not late between two runs. */
export const EXPORT_NAME = 'export:'

/**
 * When the oldest event was stored that a forwarder has not sent. Undefined when all have sent everything. By time and
 * not by sequence: sequences are assigned when events are read, so a stopped forwarder would have none to send.
 */
export async function findOldestUnsent(db: Reader): Promise<string | undefined> {
  const { rows } = await sql<{ oldest: string | null }>`
    select (
      select waiting.created_at from audit_events waiting
      where waiting.created_at >= coalesce((select created_at from audit_events where event_id = f.event_id), '')
        and not exists (
          select 1 from audit_numbers n where n.event_id = waiting.event_id and n.sequence <= f.sequence
        )
      order by waiting.created_at limit 1
    ) as oldest from audit_forwards f where f.name not like ${`${EXPORT_NAME}%`}`.execute(db)
  return rows.flatMap(({ oldest }) => oldest ?? []).sort()[0]
}
