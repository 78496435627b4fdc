import { type AdmissionRule, type JsonObject, describeAdmission } from '@chancery/protocol'
import type { RuleRow } from './queries.ts'
import { readStoredRule } from './rules.ts'

/**
 * A rule as operators see it, without its pinned keys: up to 64 KiB for each rule. The signature of a removed rule is
 * not stored.
 */
export function showRule(row: RuleRow): JsonObject {
  const rule = readStoredRule(row.rule_json)
  return {
    rule_id: row.rule_id,
    status: row.status,
    joins: row.joins,
    created_at: row.created_at,
    created_by: row.created_by,
    removed_at: row.removed_at,
    removed_by: row.removed_by,
    removal_reason: row.removal_reason,
    rule: rule === undefined ? null : withoutKeys(rule),
    ...(rule === undefined
      ? { admits: 'no node: the stored rule cannot be read', warnings: [] }
      : { ...describeAdmission(rule) }),
  }
}

function withoutKeys({ keys: _left, ...rule }: AdmissionRule): JsonObject {
  return { ...rule }
}
