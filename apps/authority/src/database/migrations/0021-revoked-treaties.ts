import { sql } from 'kysely'
import type { Database } from '../database.ts'
import type { Migration } from '../migration.ts'

/** The treaty that an audit event of a revocation names, as the index has it. SQLite uses the index only for a text. */
export function auditedTreaty(engine: Database['engine']): string {
  return engine === 'sqlite'
    ? "cast(json_extract(event_json, '$.details.treaty_id') as text)"
    : "((event_json::json -> 'details') ->> 'treaty_id')"
}

/** Finds the audit event of a treaty revocation, because the status column of the treaty is not signed. */
export const revokedTreaties: Migration = {
  version: 21,
  async up(tx, { backend }) {
    await sql`create index audit_events_by_revoked_treaty on audit_events (${sql.raw(auditedTreaty(backend))}) where event_type = 'recognition_treaty_revoked'`.execute(
      tx,
    )
  },
}
