import { type JsonObject, hours, sha256Hex, writeInstant, writeJson, writeSortable } from '@chancery/protocol'
import { requestDetails } from '../../audit/record.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import { transactWithKey } from '../../auth/outlived-key.ts'
import type { EnrollmentParts } from './present.ts'
import { findStoredResponse, readAttempt } from '../../requests/idempotency.ts'
import { FINGERPRINT_CHARACTERS, insertInvites } from './queries/invite-rows.ts'
import { readBatchRequest } from './requests.ts'

/**
 * POST /admin/invites
 * Creates up to 1,000 invites, all or none, with one audit event. The tokens are shown once.
 */
export async function inviteBatch(call: OperatorCall, parts: EnrollmentParts): Promise<JsonObject> {
  const { count, ...request } = readBatchRequest(call.body, parts.settings.allowedRoles)
  const now = parts.clock.now()
  const attempt = readAttempt(call, now)
  const tokens = Array.from({ length: count }, () => parts.ids.token())
  const digests = tokens.map((token) => sha256Hex(token))
  const expires = now + hours(request.tokenExpiryHours)
  const batch_id = parts.ids.uuid()

  await transactWithKey(call, parts, async (tx) => {
    // As for a single invite: the response contains secrets and is never stored.
    if (attempt !== undefined) await findStoredResponse(tx, attempt, writeSortable(now))
    const row = {
      assigned_roles_json: writeJson(request.roles),
      max_validity_hours: request.maxValidityHours,
      recipient_public_key: null,
      created_at: writeSortable(now),
      expires_at: writeSortable(expires),
      created_by: call.operator.key_id,
      batch_id,
      label: null,
    }
    await insertInvites(
      tx,
      digests.map((token_digest) => ({ ...row, token_digest })),
    )
    const details = {
      count,
      batch_id,
      roles: request.roles,
      expires_at: writeInstant(expires),
      invite_fingerprints: digests.map((digest) => digest.slice(0, FINGERPRINT_CHARACTERS)),
    }
    await parts.audit.record(tx, { type: 'invites_created', details: { ...details, ...requestDetails(call) } })
  })
  return { count, batch_id, expires_at: writeInstant(expires), token_ids: tokens }
}
