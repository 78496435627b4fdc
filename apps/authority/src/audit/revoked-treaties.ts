import { type RawBuilder, sql } from 'kysely'
import type { Database } from '../database/database.ts'
import { auditedDetail } from '../database/partitions/audit-partitions.ts'

/**
 * Whether the audit log has the revocation of a treaty, for a statement over `recognition_treaties`. The status column
 * of a treaty is not signed. The audit log is only appended to, and copies of it are stored elsewhere. A literal type,
 * so that the planner may use the index of such events alone.
 */
export function isRevokedInAudit(engine: Database['engine']): RawBuilder<boolean | number> {
  return sql.raw<boolean | number>(revokedInAudit(engine))
}

/** The same as text. */
export function revokedInAudit(engine: Database['engine']): string {
  return `exists (select 1 from audit_events where event_type = 'recognition_treaty_revoked' and ${auditedDetail(engine, 'treaty_id')} = recognition_treaties.treaty_id)`
}
