import { Refusal } from '@chancery/contract'
import { type JsonObject, writeSortable } from '@chancery/protocol'
import { requestDetails } from '../../audit/record.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import type { Reader, Transaction } from '../../database/database.ts'
import { readDryRun, readReason, refuseUnknownMembers } from '../../requests/read-fields.ts'
import { type AdmissionParts, withoutSignature } from './rules.ts'
import { type RuleRow, findRule, listActiveRules, listValidOf, markRemoved } from './queries.ts'

const MAX_NAMED = 1000

/**
 * POST /admin/admission-rules/{rule_id}/remove
 * Ends a rule: no join and no renewal from the next request on. Certificates that it issued stay valid for their hours;
 * the response names them, so that they can be revoked. Repeating it keeps the first time and reason.
 */
export async function remove(call: OperatorCall, parts: AdmissionParts): Promise<JsonObject> {
  refuseUnknownMembers(call.body, ['reason', 'dry_run'])
  const removal_reason = readReason(call.body)
  const rule_id = call.params['rule_id'] ?? ''
  if (readDryRun(call.body)) return preview(parts, rule_id)
  return parts.database.write(async (tx) => {
    const stored = await findRule(tx.query, rule_id)
    if (stored === undefined) throw new Refusal('admission_rule_not_found')
    const { isRemoved, left } = await removeOne(tx, parts, stored, { call, reason: removal_reason })
    if (isRemoved) await tx.raiseVersion('admission')
    return { rule_id, status: 'removed', ...left }
  })
}

interface Removal {
  readonly call: OperatorCall
  readonly reason: string
}

/** Removes the rules that an operator key added. Returns their number. */
export async function removeRulesOf(
  tx: Transaction,
  parts: AdmissionParts,
  created_by: string,
  removal: Removal,
): Promise<number> {
  let removed = 0
  for (const stored of await listActiveRules(tx.query, created_by))
    if ((await removeOne(tx, parts, stored, removal)).isRemoved) removed += 1
  // Last: a removal of one rule takes its row before the version, too.
  if (removed > 0) await tx.raiseVersion('admission')
  return removed
}

async function removeOne(
  tx: Transaction,
  parts: AdmissionParts,
  { rule_id, rule_json }: Pick<RuleRow, 'rule_id' | 'rule_json'>,
  { call, reason }: Removal,
): Promise<{ readonly isRemoved: boolean; readonly left: Left }> {
  const isRemoved = await markRemoved(tx, rule_id, {
    removed_at: writeSortable(parts.clock.now()),
    removed_by: call.operator.key_id,
    removal_reason: reason,
    rule_json: withoutSignature(rule_json),
  })
  const left = await certificatesOf(tx.query, parts, rule_id)
  if (isRemoved) {
    const details = { rule_id, reason, valid_certificates: left.valid_certificates }
    await parts.audit.record(tx, { type: 'admission_rule_removed', details: { ...details, ...requestDetails(call) } })
  }
  return { isRemoved, left }
}

async function preview(parts: AdmissionParts, rule_id: string): Promise<JsonObject> {
  const stored = await findRule(parts.database.read, rule_id)
  if (stored === undefined) throw new Refusal('admission_rule_not_found')
  const left = await certificatesOf(parts.database.read, parts, rule_id)
  return {
    dry_run: true,
    rule_id,
    status: stored.status,
    would_change: stored.status === 'active',
    joins: stored.joins,
    ...left,
  }
}

/** Certificates that stay valid. */
type Left = {
  readonly valid_certificates: number
  readonly certificates: readonly string[]
  readonly more: boolean
}

async function certificatesOf(db: Reader, { clock }: AdmissionParts, rule_id: string): Promise<Left> {
  const rows = await listValidOf(db, rule_id, writeSortable(clock.now()), MAX_NAMED + 1)
  const certificates = rows.slice(0, MAX_NAMED).map(({ cert_id }) => cert_id)
  return { valid_certificates: certificates.length, certificates, more: rows.length > MAX_NAMED }
}
