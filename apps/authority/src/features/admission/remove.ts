import { Refusal } from '@chancery/contract'
import { writeSortable } from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import { requestDetails } from '../../audit/record.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import type { Reader } from '../../database/database.ts'
import { readDryRun, readReason, refuseUnknownMembers } from '../../requests/read-fields.ts'
import type { AdmissionParts } from './parts.ts'
import { findRule, listValidOf, markRemoved } from './queries.ts'
import { withoutSignature } from './rules.ts'

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
    const removal = {
      removed_at: writeSortable(parts.clock.now()),
      removed_by: call.operator.key_id,
      removal_reason,
      rule_json: withoutSignature(stored.rule_json),
    }
    const isRemoved = await markRemoved(tx, rule_id, removal)
    const left = await certificatesOf(tx.query, parts, rule_id)
    if (isRemoved) {
      await tx.raiseVersion('admission')
      const details = { rule_id, reason: removal_reason, valid_certificates: left.valid_certificates }
      await parts.audit.record(tx, { type: 'admission_rule_removed', details: { ...details, ...requestDetails(call) } })
    }
    return { rule_id, status: 'removed', ...left }
  })
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

async function certificatesOf(
  db: Reader,
  { clock }: AdmissionParts,
  rule_id: string,
): Promise<{ readonly valid_certificates: number; readonly certificates: readonly string[]; readonly more: boolean }> {
  const rows = await listValidOf(db, rule_id, writeSortable(clock.now()), MAX_NAMED + 1)
  const certificates = rows.slice(0, MAX_NAMED).map(({ cert_id }) => cert_id)
  return { valid_certificates: certificates.length, certificates, more: rows.length > MAX_NAMED }
}
