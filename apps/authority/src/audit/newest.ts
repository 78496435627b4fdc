import type { AuditEventType } from '@chancery/contract'
import type { Reader } from '../database/database.ts'

/** Returns the texts of the newest events of some types, newest first. */
export async function listNewestEvents(
  db: Reader,
  types: readonly AuditEventType[],
  limit: number,
): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('audit_events')
    .select('event_json')
    .where('event_type', 'in', types)
    .orderBy('created_at', 'desc')
    .limit(limit)
    .execute()
  return rows.map((row) => row.event_json)
}
