import type { Query } from '../database/database.ts'

/** Returns the operators of the newest event that recorded a change of their keys. */
export async function recordedOperators(query: Query): Promise<readonly string[]> {
  const row = await query
    .selectFrom('audit_events')
    .select('event_json')
    .where('event_type', '=', 'operator_keys_changed')
    .orderBy('created_at', 'desc')
    .orderBy('event_id', 'desc')
    .limit(1)
    .executeTakeFirst()
  if (row === undefined) return []
  const { details } = JSON.parse(row.event_json) as { readonly details: { readonly operators?: readonly string[] } }
  return details.operators ?? []
}
