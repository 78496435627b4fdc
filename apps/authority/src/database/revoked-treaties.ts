import { sql } from 'kysely'
import type { RawBuilder } from 'kysely'
import type { Database } from './database.ts'

/** The treaty that an audit event of a revocation names, as its index spells it; a text, or SQLite does without it. */
export function auditedTreaty(backend: Database['engine']): string {
  return backend === 'sqlite'
    ? "cast(json_extract(event_json, '$.details.treaty_id') as text)"
    : "((event_json::json -> 'details') ->> 'treaty_id')"
}

/**
 * Whether the audit log has the revocation of a treaty, for a statement over `recognition_treaties`. The status column
 * of a treaty is not signed. The audit log is only appended to, and copies of it are stored elsewhere. A literal type,
 * so that the planner may use the index of such events alone.
 */
export function isRevokedInAudit(backend: Database['engine']): RawBuilder<boolean | number> {
  return sql<
    boolean | number
  >`exists (select 1 from audit_events where event_type = 'recognition_treaty_revoked' and ${sql.raw(auditedTreaty(backend))} = recognition_treaties.treaty_id)`
}
