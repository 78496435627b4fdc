import { Refusal } from '@chancery/contract'
import { type JsonObject, writeSortable } from '@chancery/protocol'
import { requestDetails } from '../../audit/record.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import { satisfiesTier } from '../../auth/operator-keys.ts'
import type { EnrollmentParts } from './present.ts'
import type { Reader, Transaction } from '../../database/database.ts'
import { FINGERPRINT_CHARACTERS, countOpen, findFingerprints, isOfOthers, withdrawOpen } from './queries/invite-rows.ts'
import type { InviteChoice } from './queries/invite-rows.ts'
import { readWithdrawal } from './requests.ts'

/**
 * POST /admin/invites/withdraw
 * Ends unused invites, on every instance from the next join on. A standard key ends its own invites, a privileged key
 * any. Used and expired invites stay as they are.
 */
export async function inviteWithdraw(call: OperatorCall, parts: EnrollmentParts): Promise<JsonObject> {
  const { choice, reason, isDryRun } = readWithdrawal(call.body)
  return parts.database.write(async (tx) => {
    if (!satisfiesTier(call.operator.tier, 'privileged') && (await isOfOthers(tx.query, choice, call.operator.key_id)))
      throw new Refusal('insufficient_operator_tier')
    const unknown = await unknownOf(tx.query, choice)
    if (isDryRun) {
      const open = await countOpen(tx.query, choice, writeSortable(parts.clock.now()))
      return { dry_run: true, would_change: open > 0, open_invites: open, unknown_fingerprints: unknown }
    }
    const revoked = await withdrawInvites(tx, parts, { call, choice, reason })
    return { withdrawn: revoked, unknown_fingerprints: unknown }
  })
}

export interface InviteWithdrawal {
  readonly call: OperatorCall
  readonly choice: InviteChoice
  readonly reason: string
}

/** Runs in the caller's transaction. One event for all invites; none when nothing changed. */
export async function withdrawInvites(
  tx: Transaction,
  parts: EnrollmentParts,
  { call, choice, reason }: InviteWithdrawal,
): Promise<number> {
  const now = writeSortable(parts.clock.now())
  const { count, fingerprints } = await withdrawOpen(tx, choice, { now, withdrawn_by: call.operator.key_id })
  if (count === 0) return 0
  const details = {
    count,
    reason,
    ...(choice.by === 'maker' ? { created_by: choice.created_by } : {}),
    ...(choice.by === 'batch' ? { batch_id: choice.batch_id } : {}),
    invite_fingerprints: fingerprints,
    ...requestDetails(call),
  }
  await parts.audit.record(tx, { type: 'invites_withdrawn', details })
  return count
}

async function unknownOf(tx: Reader, choice: InviteChoice): Promise<readonly string[]> {
  if (choice.by !== 'fingerprints') return []
  const found = await findFingerprints(tx, choice)
  const known = new Set(found.map(({ token_digest }) => token_digest.slice(0, FINGERPRINT_CHARACTERS)))
  return choice.fingerprints.filter((fingerprint) => !known.has(fingerprint))
}
