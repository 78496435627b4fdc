import { sql } from 'kysely'
import type { Database } from '../database/database.ts'
import { auditedDetail } from '../database/partitions/audit-partitions.ts'

/**
 * Whether the audit log has the removal of an admission rule. The signed text of a removed rule can be put back into its
 * row from a backup. The audit log is only appended to. A literal type, so that the planner may use the index.
 */
export async function isRemovedInAudit(
  { engine, read }: Pick<Database, 'engine' | 'read'>,
  rule_id: string,
): Promise<boolean> {
  const row = await read
    .selectFrom('audit_events')
    .select('event_id')
    .where(
      sql<boolean>`event_type = 'admission_rule_removed' and ${sql.raw(auditedDetail(engine, 'rule_id'))} = ${rule_id}`,
    )
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}
