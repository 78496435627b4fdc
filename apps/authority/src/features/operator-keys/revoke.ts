import { Refusal } from '@chancery/contract'
import { type JsonObject, shape, writeInstant, writeSortable } from '@chancery/protocol'
import { requestDetails } from '../../audit/record.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import { checkRevoked, listRevokedKeys, type RevokedKey } from '../../auth/operator-keys.ts'
import { readDryRun, readMember, readReason, refuseUnknownMembers } from '../../requests/read-fields.ts'
import { type Admission, countActiveRules } from '../admission/index.ts'
import { type Enrollment, countOpenInvites } from '../enrollment/index.ts'
import type { Core } from '../../core.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'
import type { Transaction } from '../../database/database.ts'

export async function insertRevokedKey(tx: Transaction, row: RevokedKey): Promise<void> {
  await tx.query.insertInto('revoked_operator_keys').values(row).execute()
}

export interface OperatorKeysParts extends Pick<
  Core,
  'activeWindow' | 'audit' | 'clock' | 'database' | 'limits' | 'network' | 'operators'
> {
  readonly admission: Admission
  readonly enrollment: Enrollment
  readonly settings: Pick<AuthoritySettings, 'allowedRoles' | 'heartbeatSeconds' | 'renewalGraceSeconds'>
}

const LAST_PRIVILEGED = {
  message: 'The last privileged operator key must stay. Add another first, or use force with a reason.',
}

/**
 * POST /admin/operator-keys/{key_id}/revoke
 * Revokes an operator key permanently, on every instance from the next request on. The last usable key cannot be
 * revoked, because then no operator could revoke anything. The last privileged key needs `force` and a reason, because
 * nothing can be revoked until another is configured.
 */
// oxlint-disable-next-line max-lines-per-function -- one transaction, read from top to bottom
export async function revoke(call: OperatorCall, parts: OperatorKeysParts): Promise<JsonObject> {
  refuseUnknownMembers(call.body, ['reason', 'force', 'dry_run', 'withdraw_invites', 'remove_rules'])
  const reason = readReason(call.body)
  const isDryRun = readDryRun(call.body)
  // Force counts only with an explicit reason, so that it is not used by mistake.
  const isForced =
    readMember(call.body['force'], false, shape.boolean, 'invalid_input') && call.body['reason'] !== undefined
  const withInvites = readMember(call.body['withdraw_invites'], false, shape.boolean, 'invalid_input')
  const withRules = readMember(call.body['remove_rules'], false, shape.boolean, 'invalid_input')
  const key_id = call.params['key_id'] ?? ''
  const made = { by: 'maker', created_by: key_id } as const
  const stored = parts.operators.get(key_id)
  if (stored === undefined) throw new Refusal('unknown_operator_key')
  const { publicKey: public_key } = stored

  return parts.database.write(async (tx) => {
    /** Also when the key was revoked before, so that its invites and rules can still be ended. */
    const endMade = async (): Promise<JsonObject> => ({
      ...(withInvites
        ? { withdrawn_invites: await parts.enrollment.withdrawInvites(tx, { call, choice: made, reason }) }
        : {}),
      ...(withRules ? { removed_rules: await parts.admission.removeRulesOf(tx, key_id, { call, reason }) } : {}),
    })
    // Counted under the lock, so that two keys that revoke each other concurrently leave one.
    await tx.lock('operator-keys')
    const rows = await listRevokedKeys(tx.query)
    const isRevoked = checkRevoked(rows)
    // The caller itself may have been revoked between its authentication and this lock.
    if (isRevoked(call.operator)) throw new Refusal('admin_auth_failed', {}, { message: 'Unknown admin key' })
    if (rows.some((row) => row.key_id === key_id)) {
      return isDryRun
        ? { dry_run: true, key_id, would_change: false }
        : { key_id, revoked: true, already_revoked: true, ...(await endMade()) }
    }
    // Other ids of the same public key are revoked with it.
    const left = [...parts.operators.values()].filter((key) => key.publicKey !== public_key && !isRevoked(key))
    const remaining = {
      remaining_active_keys: left.length,
      remaining_privileged_keys: left.filter((key) => key.tier === 'privileged').length,
    }
    if (left.length === 0) throw new Refusal('last_active_operator_key')
    const isLastPrivileged = stored.tier === 'privileged' && remaining.remaining_privileged_keys === 0
    if (isLastPrivileged && !isForced)
      throw new Refusal('last_active_operator_key', { tier: 'privileged' }, LAST_PRIVILEGED)
    const now = parts.clock.now()
    if (isDryRun) {
      const open_invites = await countOpenInvites(tx.query, made, writeSortable(now))
      const active_rules = await countActiveRules(tx.query, key_id)
      return { dry_run: true, key_id, would_change: true, ...remaining, open_invites, active_rules }
    }
    const revoked_by = call.operator.key_id
    await insertRevokedKey(tx, { key_id, public_key, revoked_at: writeSortable(now), reason, revoked_by })
    await tx.raiseVersion('operator-keys')
    // Here key_id is the revoked key; revoked_by is the operator.
    const details = {
      ...requestDetails(call),
      key_id,
      reason,
      revoked_by,
      forced: isLastPrivileged,
    }
    await parts.audit.record(tx, { type: 'operator_key_revoked', details })
    const ended = await endMade()
    return {
      key_id,
      revoked: true,
      already_revoked: false,
      revoked_at: writeInstant(now),
      reason,
      ...remaining,
      ...ended,
    }
  })
}
