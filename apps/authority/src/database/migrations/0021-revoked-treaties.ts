import { sql } from 'kysely'
import { auditedTreaty } from '../revoked-treaties.ts'
import type { Migration } from '../migration.ts'

/** Finds the audit event of a treaty revocation, because the status column of the treaty is not signed. */
export const revokedTreaties: Migration = {
  version: 21,
  async up(tx, { backend }) {
    await sql`create index audit_events_by_revoked_treaty on audit_events (${sql.raw(auditedTreaty(backend))}) where event_type = 'recognition_treaty_revoked'`.execute(
      tx,
    )
  },
}
