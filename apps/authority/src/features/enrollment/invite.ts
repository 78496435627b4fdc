import { type JsonObject, hours, sha256Hex, writeInstant, writeJson, writeSortable } from '@chancery/protocol'
import { requestDetails } from '../../audit/record.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import { transactWithKey } from '../../auth/outlived-key.ts'
import type { EnrollmentParts } from './parts.ts'
import { findStoredResponse, readAttempt } from '../../requests/idempotency.ts'
import { insertInvites } from './queries/invite-rows.ts'
import { readInviteRequest } from './requests.ts'

/**
 * POST /admin/invite
 * Creates an invite. The token is shown once and stored as a digest only, so a reader of the database cannot join with
 * it.
 */
export async function invite(call: OperatorCall, parts: EnrollmentParts): Promise<JsonObject> {
  const request = readInviteRequest(call.body, parts.settings.allowedRoles)
  const now = parts.clock.now()
  const attempt = readAttempt(call, now)
  const token = parts.ids.token()
  const digest = sha256Hex(token)
  const expires = now + hours(request.tokenExpiryHours)

  await transactWithKey(call, parts, async (tx) => {
    // The response contains a secret and is never stored: a repeat under the same key is a conflict, not a second
    // invite.
    if (attempt !== undefined) await findStoredResponse(tx, attempt, writeSortable(now))
    const row = {
      token_digest: digest,
      assigned_roles_json: writeJson(request.roles),
      max_validity_hours: request.maxValidityHours,
      recipient_public_key: request.recipient,
      created_at: writeSortable(now),
      expires_at: writeSortable(expires),
      created_by: call.operator.key_id,
      batch_id: null,
      label: request.label,
    }
    await insertInvites(tx, [row])
    const details = {
      token_fingerprint: digest.slice(0, 16),
      roles: request.roles,
      recipient_public_key: request.recipient,
    }
    await parts.audit.record(tx, { type: 'invite_created', details: { ...details, ...requestDetails(call) } })
  })
  return { token_id: token, expires_at: writeInstant(expires) }
}
