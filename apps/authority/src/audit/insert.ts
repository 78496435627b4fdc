import type { Prepare, Statement } from '../database/database.ts'
import { subjectsOf } from './subjects.ts'

export interface AuditRow {
  readonly event_id: string
  readonly event_type: string
  readonly event_json: string
  readonly created_at: string
  /** The ids that the event names; where it is left out they are read from the text. */
  readonly subjects?: readonly string[]
}

const COLUMNS = 'event_id, event_type, event_json, created_at'
const INSERT = `insert into audit_events (${COLUMNS})`
const INSERT_SUBJECT = 'insert into audit_subjects (subject, created_at, event_id)'

/**
 * The parts `audited` of a PostgreSQL statement that insert events and their subjects, for batches that write
 * everything in one statement. The source gives the columns of an event, and `subjects` as subjectsText() writes them.
 */
export function auditInsertFrom(source: string): string {
  return `audit_rows as materialized (${source}), audited as (
  ${INSERT} select ${COLUMNS} from audit_rows
), audited_subjects as (
  ${INSERT_SUBJECT} select s.subject, r.created_at, r.event_id
  from audit_rows r cross join unnest(string_to_array(r.subjects, E'\\n')) as s(subject)
)`
}

/** Subjects as one text; none contains a line feed. */
export function subjectsText(row: Pick<AuditRow, 'event_type' | 'event_json' | 'subjects'>): string {
  return (row.subjects ?? subjectsOf(row)).join('\n')
}

/** Inserts events on SQLite, inside another statement of the transaction. */
export function insertAuditRows(prepare: Prepare, rows: readonly AuditRow[]): void {
  const insert = prepare(`${INSERT} values (?, ?, ?, ?)`)
  const insertSubject = prepare(`${INSERT_SUBJECT} values (?, ?, ?)`)
  for (const row of rows) {
    insert.run(row.event_id, row.event_type, row.event_json, row.created_at)
    for (const subject of row.subjects ?? subjectsOf(row)) insertSubject.run(subject, row.created_at, row.event_id)
  }
}

/** Inserts events. One prepared statement for any number of rows. */
export const INSERT_AUDIT_EVENTS: Statement<readonly AuditRow[], never> = {
  name: 'insert-audit-events',
  postgres: {
    text: `with ${auditInsertFrom(
      `select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[]) as a(${COLUMNS}, subjects)`,
    )} select 1 where false`,
    values: (rows) => [
      rows.map((row) => row.event_id),
      rows.map((row) => row.event_type),
      rows.map((row) => row.event_json),
      rows.map((row) => row.created_at),
      rows.map(subjectsText),
    ],
  },
  sqlite(prepare, rows) {
    insertAuditRows(prepare, rows)
    return []
  },
}
