import { type Instant, writeSortable } from '@chancery/protocol'
import type { Transaction } from '../../database/database.ts'
import { listActiveRules, markRemoved } from './queries.ts'
import { withoutSignature } from './rules.ts'

/**
 * Ends every rule of a restored database. Some may have been removed after the backup, and the joins and evidence that
 * were used since are unknown. Returns their ids. The version stays: it shows what the backup lacks.
 */
export async function endRules(tx: Transaction, now: Instant, removal_reason: string): Promise<readonly string[]> {
  const rules = await listActiveRules(tx.query)
  for (const { rule_id, rule_json } of rules)
    await markRemoved(tx, rule_id, {
      removed_at: writeSortable(now),
      removed_by: null,
      removal_reason,
      rule_json: withoutSignature(rule_json),
    })
  return rules.map(({ rule_id }) => rule_id)
}
