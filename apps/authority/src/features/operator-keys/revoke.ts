import { Refusal } from '@chancery/contract'
import { writeInstant, writeSortable } from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import { causedBy, recordAudit } from '../../audit/record.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import type { Office } from '../../office.ts'
import { readDryRun, readReason, refuseUnknownMembers } from '../../reading.ts'
import { bumpHead } from '../../store/heads.ts'
import { insertRevokedKey, listRevokedKeys } from './store.ts'

/**
 * POST /admin/operator-keys/{key_id}/revoke
 * Final, and in force on every instance from the next request on. The last usable key cannot be revoked: an authority
 * nobody can operate could not withdraw anything else either.
 */
export async function revoke(call: OperatorCall, office: Office): Promise<JsonObject> {
  refuseUnknownMembers(call.body, ['reason', 'dry_run'])
  const reason = readReason(call.body)
  const isDryRun = readDryRun(call.body)
  const key_id = call.params['key_id'] ?? ''
  if (!office.operators.has(key_id)) throw new Refusal('unknown_operator_key')

  return office.store.transact(async (tx) => {
    // Counted under the lock: two keys that revoke each other at the same moment leave one.
    await office.store.lockHead(tx, 'operator-keys')
    const revoked = new Set((await listRevokedKeys(tx)).map((row) => row.key_id))
    // The caller itself may have been revoked between its authentication and this lock.
    if (revoked.has(call.operator.key_id)) throw new Refusal('admin_auth_failed', {}, { message: 'Unknown admin key' })
    if (revoked.has(key_id)) {
      return isDryRun
        ? { dry_run: true, key_id, would_change: false }
        : { key_id, revoked: true, already_revoked: true }
    }
    const remaining = [...office.operators.keys()].filter((id) => id !== key_id && !revoked.has(id)).length
    if (remaining === 0) throw new Refusal('last_active_operator_key')
    if (isDryRun) return { dry_run: true, key_id, would_change: true, remaining_active_keys: remaining }

    const now = office.clock.now()
    await insertRevokedKey(tx, { key_id, revoked_at: writeSortable(now), reason, revoked_by: call.operator.key_id })
    await bumpHead(tx, 'operator-keys')
    // Here key_id is the key withdrawn; who did it is revoked_by.
    const details = { ...causedBy(call), key_id, reason, revoked_by: call.operator.key_id }
    await recordAudit(tx, office, { type: 'operator_key_revoked', details })
    return {
      key_id,
      revoked: true,
      already_revoked: false,
      revoked_at: writeInstant(now),
      reason,
      remaining_active_keys: remaining,
    }
  })
}
