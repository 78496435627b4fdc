import { sql } from 'kysely'
import type { Database } from '../database.ts'
import type { Migration } from '../migration.ts'

/** The rule that an audit event of a removal names, as the index has it. SQLite uses the index only for a text. */
export function auditedRule(engine: Database['engine']): string {
  return engine === 'sqlite'
    ? "cast(json_extract(event_json, '$.details.rule_id') as text)"
    : "((event_json::json -> 'details') ->> 'rule_id')"
}

/** A version that the high-water mark contains, and the audit event of a removal, because a row can be put back. */
export const removedRules: Migration = {
  version: 42,
  servesFrom: 25,
  async up(tx, { backend }) {
    await tx.insertInto('heads').values({ name: 'admission', version: 0 }).execute()
    await sql`create index audit_events_by_removed_rule on audit_events (${sql.raw(auditedRule(backend))}) where event_type = 'admission_rule_removed'`.execute(
      tx,
    )
  },
}
