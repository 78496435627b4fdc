import { writeSortable } from '@chancery/protocol'
import type { Instant } from '@chancery/protocol'
import { sql } from 'kysely'
import type { Database } from '../database/database.ts'
import { AUDIT_TABLES, partitionSize, roomBelow } from '../database/migrations/0048-audit-partitions.ts'
import { AUDIT } from '../database/partitions/audit-partitions.ts'
import { readLayout } from '../database/partitions/layout.ts'
import { rowsOf } from '../testing/rows.suite.ts'
import { INSERT_AUDIT_EVENTS } from './insert.ts'
import type { AuditRow } from './insert.ts'

/** Makes the partitions of a store on PostgreSQL small. All its positions must be below `size`. */
export async function useAuditPartitionsOf(database: Database, size: number): Promise<void> {
  const run = (text: string): Promise<unknown> => sql.raw(text).execute(rowsOf(database))
  for (const table of AUDIT_TABLES) {
    await run(`alter table ${table} detach partition ${table}_0`)
    await run(`alter table ${table} attach partition ${table}_0 for values from (0) to (${size})`)
  }
  await run(partitionSize(size))
  await run(roomBelow(size))
}

/** Partitions of each table, which must be the same, without the name of the table. */
export async function partitionsOf(database: Database): Promise<readonly string[]> {
  const found: string[][] = []
  for (const table of AUDIT_TABLES) {
    const layout = await readLayout(database.read, { ...AUDIT, tables: [table] })
    found.push((layout?.partitions ?? []).map(({ suffix, to }) => `${suffix.slice(1)} < ${to}`))
  }
  const [first = [], ...others] = found
  for (const other of others)
    if (other.join() !== first.join()) throw new Error(`tables differ: ${found.map((each) => each.join()).join(' / ')}`)
  return first
}

export interface MadeEvents {
  readonly type?: string
  readonly at?: Instant
}

let made = 0

/** Rows of events, each with two subjects. */
export function eventRows(count: number, { type = 'certificate_issued', at = 0n }: MadeEvents = {}): AuditRow[] {
  return Array.from({ length: count }, () => {
    made += 1
    const event_id = `event-${String(made).padStart(8, '0')}`
    const details = { cert_id: `cert-${made}`, node_public_key: `node-${made % 10}` }
    const created_at = writeSortable(at)
    return {
      event_id,
      event_type: type,
      event_json: JSON.stringify({ event_id, event_type: type, details, created_at }),
      created_at,
    }
  })
}

/** Inserts events as every release does, without a position. */
export async function addEvents(
  database: Database,
  count: number,
  events: MadeEvents = {},
): Promise<readonly AuditRow[]> {
  const rows = eventRows(count, events)
  await database.run(INSERT_AUDIT_EVENTS, rows)
  return rows
}

/** Positions of rows, by the id of the event. */
export async function positionsIn(
  database: Database,
  table: (typeof AUDIT_TABLES)[number],
): Promise<ReadonlyMap<string, number>> {
  const { rows } = await sql<{ event_id: string; position: number }>`
    select event_id, position from ${sql.table(table)}`.execute(database.read)
  return new Map(rows.map(({ event_id, position }) => [event_id, position]))
}
