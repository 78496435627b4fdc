import type { Prepare, Statement } from '../database/database.ts'

export interface AuditRow {
  readonly event_id: string
  readonly event_type: string
  readonly event_json: string
  readonly created_at: string
}

const INSERT = 'insert into audit_events (event_id, event_type, event_json, created_at)'

/** The part of a PostgreSQL statement that inserts events, for batches that write everything in one statement. */
export function auditInsertFrom(source: string): string {
  return `${INSERT} ${source}`
}

/** Inserts events on SQLite, inside another statement of the transaction. */
export function insertAuditRows(prepare: Prepare, rows: readonly AuditRow[]): void {
  const insert = prepare(`${INSERT} values (?, ?, ?, ?)`)
  for (const row of rows) insert.run(row.event_id, row.event_type, row.event_json, row.created_at)
}

/** Inserts events. One prepared statement for any number of rows. */
export const INSERT_AUDIT_EVENTS: Statement<readonly AuditRow[], never> = {
  name: 'insert-audit-events',
  postgres: {
    text: auditInsertFrom('select * from unnest($1::text[], $2::text[], $3::text[], $4::text[])'),
    values: (rows) => [
      rows.map((row) => row.event_id),
      rows.map((row) => row.event_type),
      rows.map((row) => row.event_json),
      rows.map((row) => row.created_at),
    ],
  },
  sqlite(prepare, rows) {
    insertAuditRows(prepare, rows)
    return []
  },
}
