import { DAY, type Instant, writeInstant, writeSortable } from '@chancery/protocol'
import { sql } from 'kysely'
import type { Database, Reader, Transaction } from '../database/database.ts'
import { type Lease, type LeaseParts, checkLease, extendLease } from '../database/locks/leases.ts'
import {
  AUDIT,
  STAYING_POSITION,
  createStaying,
  readLastPosition,
  readRoomEnd,
} from '../database/partitions/audit-partitions.ts'
import { type Partition, lockLayout, readLayout } from '../database/partitions/layout.ts'
import { changeTables, waitForWriters } from '../database/partitions/table-lock.ts'
import { type Audit, STAYING } from './record.ts'
import { leastPosition } from './sequence.ts'

/** Rows of a partition whose last one becomes old within this time are not deleted one by one. */
const WAIT = 7n * DAY
const ROWS = 10_000
/** The job runs every ten minutes. */
const ATTEMPTS = 3
/** A partition is read from end to end. */
const LEASE_SECONDS = 3600

interface DropParts extends LeaseParts {
  readonly audit: Audit
}

/**
 * Drops the oldest partitions whose events are all older than `cutoff` and stored elsewhere. Events that stay are moved
 * to a partition for them first. Returns false while the oldest partition waits to be dropped: then no event is to be
 * deleted alone. One that could not be dropped for a week waits no longer.
 */
export async function dropOldPartitions(
  parts: DropParts,
  lease: Lease,
  cutoff: Instant,
  signal: AbortSignal,
): Promise<boolean> {
  const { engine, read } = parts.database
  if (engine === 'sqlite') return true
  while (!signal.aborted) {
    const oldest = (await readLayout(read, AUDIT))?.partitions.find(({ from }) => from >= 0)
    if (oldest === undefined || !(await isClosed(read, oldest))) return true
    const newest = await readNewest(read, oldest)
    if (newest !== undefined && newest.created_at >= writeSortable(cutoff))
      return newest.created_at >= writeSortable(cutoff + WAIT)
    const isPassed = newest === undefined || isBefore(newest.sequence, await leastPosition(read))
    if (!isPassed || !(await dropOldest(parts, lease, { oldest, cutoff, signal })))
      return newest !== undefined && newest.created_at < writeSortable(cutoff - WAIT)
  }
  return false
}

/** Whether new rows have positions after the partition. Neither value ever becomes lower. */
async function isClosed(db: Reader, { to }: Partition): Promise<boolean> {
  return to <= (await readLastPosition(db)) && to < (await readRoomEnd(db))
}

function isBefore(sequence: number | null, least: number): boolean {
  return sequence !== null && sequence < least
}

async function readNewest(
  db: Reader,
  { name }: Partition,
): Promise<{ readonly created_at: string; readonly sequence: number | null } | undefined> {
  const { rows } = await sql<{ created_at: string; sequence: number | null }>`
    select e.created_at, n.sequence from (select * from ${sql.table(name)} order by created_at desc limit 1) as e
    left join audit_numbers n on n.event_id = e.event_id`.execute(db)
  return rows[0]
}

interface Dropping {
  readonly oldest: Partition
  readonly cutoff: Instant
  readonly signal: AbortSignal
}

async function dropOldest(parts: DropParts, lease: Lease, { oldest, cutoff, signal }: Dropping): Promise<boolean> {
  const { database } = parts
  // After it no row is added: the transactions that began before the partition was closed have ended.
  if (!(await waitForWriters(database, AUDIT, { signal, attempts: ATTEMPTS }))) return false
  await extendLease(parts, lease, LEASE_SECONDS)
  await moveStaying(database, lease, oldest)
  await moveStrays(database, lease, oldest)
  await moveNumbers(parts, lease, oldest)
  const held = await inspect(database, oldest)
  let isDropped = false
  const plan = async (tx: Transaction): Promise<readonly string[]> => {
    await checkLease(tx, lease)
    // Again: an operator may have set a reader back.
    if (held.numbered < held.count || (held.count > 0 && !isBefore(held.last, await leastPosition(tx.query)))) return []
    if (held.count > 0)
      await parts.audit.record(tx, {
        type: 'audit_events_removed',
        details: {
          count: held.count,
          first_sequence: held.first,
          last_sequence: held.last,
          created_before: writeInstant(cutoff),
          job: 'retention',
        },
      })
    const names = AUDIT.tables.map((table) => `${table}${oldest.suffix}`)
    // Ends an autovacuum of them, which no request waits for.
    for (const name of names) await sql`lock table ${sql.table(name)} in share update exclusive mode`.execute(tx.query)
    return names.map((name) => `drop table ${name}`)
  }
  const onChanged = (): void => {
    isDropped = true
  }
  await changeTables(database, AUDIT, { plan, onChanged, signal, attempts: ATTEMPTS })
  return isDropped
}

/** Moves events that stay. Each batch is complete alone. */
async function moveStaying(database: Database, lease: Lease, { name, from, to }: Partition): Promise<void> {
  const isStaying = sql`event_type in (${sql.join(STAYING)})`
  const { rows } = await sql`select 1 from ${sql.table(name)} where ${isStaying} limit 1`.execute(database.read)
  if (rows.length === 0) return
  await database.write(async (tx) => {
    await lockLayout(tx, AUDIT)
    const layout = await readLayout(tx.query, AUDIT)
    if (layout?.partitions.every((each) => each.from >= 0) === true) await createStaying(tx.query)
  })
  await inBatches(database, lease, (tx) =>
    sql`update audit_events set position = ${STAYING_POSITION} where position >= ${from} and position < ${to}
      and event_id in (select event_id from ${sql.table(name)} where ${isStaying} limit ${ROWS})`.execute(tx.query),
  )
}

/**
 * Moves numbers and subjects to the partition of their event where that is another one: of events that stay, and of
 * events that got the first positions after the partition. Rows without an event are left, and go with the partition.
 */
async function moveStrays(database: Database, lease: Lease, { name, suffix, from, to }: Partition): Promise<void> {
  for (const table of AUDIT.tables.slice(1))
    await inBatches(database, lease, (tx) =>
      sql`with stray as materialized (
        select s.ctid as place, s.event_id from ${sql.table(`${table}${suffix}`)} s
        where not exists (select 1 from ${sql.table(name)} e where e.event_id = s.event_id)
      ), living as materialized (
        select stray.place, e.position from stray join audit_events e on e.event_id = stray.event_id limit ${ROWS}
      )
      update ${sql.table(table)} t set position = living.position from living
      where t.ctid = living.place and t.position >= ${from} and t.position < ${to}`.execute(tx.query),
    )
}

/**
 * Moves numbers in later partitions to this one, that of their events, so that they go with it: after a long pause of
 * numbering these are millions. Numbers without an event would stay first in order, and every export from the beginning
 * and every removal would pass all of them.
 */
async function moveNumbers(parts: DropParts, lease: Lease, { name, suffix, to }: Partition): Promise<void> {
  const { database } = parts
  for (let after: string | null = ''; after !== null;) {
    await extendLease(parts, lease, LEASE_SECONDS)
    after = await database.write(
      async (tx) => {
        await checkLease(tx, lease)
        const { rows } = await sql<{ last: string | null }>`with away as materialized (
            select e.event_id from ${sql.table(name)} e where e.event_id > ${after}
            and not exists (select 1 from ${sql.table(`audit_numbers${suffix}`)} n where n.event_id = e.event_id)
            order by e.event_id limit ${ROWS}
          ), moved as (
            update audit_numbers n set position = ${to - 1} from away
            where n.event_id = away.event_id and n.position >= ${to}
          )
          select max(event_id) as last from away`.execute(tx.query)
        return rows[0]?.last ?? null
      },
      { unlimited: true },
    )
  }
}

async function inBatches(
  database: Database,
  lease: Lease,
  move: (tx: Transaction) => Promise<{ readonly numAffectedRows?: bigint }>,
): Promise<void> {
  for (let moved = ROWS; moved === ROWS;)
    moved = await database.write(
      async (tx) => {
        await checkLease(tx, lease)
        return Number((await move(tx)).numAffectedRows ?? 0)
      },
      { unlimited: true },
    )
}

interface Held {
  readonly count: number
  readonly numbered: number
  readonly first: number | null
  readonly last: number | null
}

/** Reads all events of a partition that gets no more rows, and no other partition: their numbers are in this one. */
async function inspect(database: Database, { name, suffix }: Partition): Promise<Held> {
  return database.write(
    async ({ query }) => {
      const { rows } = await sql<Held>`
        select count(*) as count, count(n.sequence) as numbered, min(n.sequence) as first, max(n.sequence) as last
        from ${sql.table(name)} e
        left join ${sql.table(`audit_numbers${suffix}`)} n on n.event_id = e.event_id`.execute(query)
      return rows[0] ?? { count: 0, numbered: 0, first: null, last: null }
    },
    { unlimited: true },
  )
}
