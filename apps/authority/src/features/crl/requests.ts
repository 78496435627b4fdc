import { Refusal } from '@chancery/contract'
import { REVOCATION_REASONS, isPlainText } from '@chancery/protocol'
import type { JsonObject, JsonValue, RevocationReason } from '@chancery/protocol'
import { readDryRun, refuseUnknownMembers, shorten } from '../../reading.ts'

export interface RevokeRequest {
  readonly cert_ids: readonly string[]
  readonly form: 'cert_id' | 'cert_ids'
  readonly reason: RevocationReason
  readonly isDryRun: boolean
}

const MAX_IDS = 1000

/** One certificate, or up to a thousand in one version of the list (protocol/core 9.3). */
export function readRevokeRequest(body: JsonObject): RevokeRequest {
  refuseUnknownMembers(body, ['cert_id', 'cert_ids', 'reason', 'dry_run'])
  const form = body['cert_ids'] === undefined ? 'cert_id' : 'cert_ids'
  const cert_ids = form === 'cert_id' ? [body['cert_id']] : readIds(body)
  const ids = cert_ids.map((id) => {
    if (typeof id !== 'string' || id === '') throw new Refusal('missing_cert_id')
    return id
  })
  const reason = readReason(body['reason'])
  // Ids of another form were never issued; nothing needs to be looked up to say so.
  const unknown = ids.filter((id) => !isPlainText(id, 128))
  if (unknown.length > 0)
    throw new Refusal(
      'certificate_not_found',
      form === 'cert_ids' ? { cert_ids: unknown.slice(0, 64).map(shorten) } : {},
    )
  return { cert_ids: ids, form, reason, isDryRun: readDryRun(body) }
}

function readIds(body: JsonObject): readonly JsonValue[] {
  const given = body['cert_ids']
  // Both forms at once would leave open what is meant; a repeated id is a mistake in the list.
  const isList =
    Array.isArray(given) && given.length >= 1 && given.length <= MAX_IDS && new Set(given).size === given.length
  if (!isList || body['cert_id'] !== undefined) throw new Refusal('missing_cert_id')
  return given as readonly JsonValue[]
}

function readReason(value: JsonValue | undefined): RevocationReason {
  if (value === undefined) return 'unspecified'
  const reason = REVOCATION_REASONS.find((each) => each === value)
  if (reason === undefined) throw new Refusal('invalid_revocation_reason')
  return reason
}
