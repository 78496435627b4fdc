import type { AuditEventType } from '@chancery/contract'
import { sql } from 'kysely'
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
    // As constants: SQLite does not use the index of one type with parameters.
    .where(
      sql<boolean>`(${sql.join(
        types.map((type) => sql`event_type = ${sql.lit(type)}`),
        sql` or `,
      )})`,
    )
    .orderBy('created_at', 'desc')
    .limit(limit)
    .execute()
  return rows.map((row) => row.event_json)
}

/**
 * SQL for the ids of the newest events, of one type or of all, for statements that read them with other rows: `source`
 * is the type or `newest`, `value` the id. It reads the end of an index.
 */
export function selectNewestIds(limit: number, type?: AuditEventType): string {
  const name = type ?? 'newest'
  const filter = type === undefined ? '' : `where event_type = '${type}'`
  return `select * from (select '${name}' as source, event_id as value from audit_events ${filter}
    order by created_at desc limit ${limit}) as ids_of_${name}`
}
