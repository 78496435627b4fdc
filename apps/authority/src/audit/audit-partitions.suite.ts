import { type Instant, writeSortable } from '@chancery/protocol'
import { sql } from 'kysely'
import type { Database } from '../database/database.ts'
import { AUDIT, AUDIT_TABLES } from '../database/partitions/audit-partitions.ts'
import { readLayout } from '../database/partitions/layout.ts'
import { partitionTables } from '../database/partitions/keep-partitions.ts'
import { rowsOf } from '../testing/rows.suite.ts'
import { type AuditRow, INSERT_AUDIT_EVENTS } from './insert.ts'
import { assignSequences } from './sequence.ts'

/** Partitions a store on PostgreSQL, with small partitions. All its positions must be below half of `size`. */
export async function useAuditPartitionsOf(database: Database, size: number): Promise<void> {
  if (!(await partitionTables(database, AUDIT, { size }))) throw new Error('not partitioned')
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

/** Events of releases before 0.2.0, whose rows have no positions. */
export async function addEarlierEvents(database: Database, count: number): Promise<void> {
  await addEvents(database, count)
  await assignSequences(database)
  if (database.engine === 'sqlite') return
  for (const table of AUDIT_TABLES) await sql`update ${sql.table(table)} set position = 0`.execute(rowsOf(database))
  await sql`select setval('audit_positions', 1)`.execute(rowsOf(database))
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
