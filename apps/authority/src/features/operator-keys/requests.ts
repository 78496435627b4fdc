import { Refusal } from '@chancery/contract'
import { isPlainText } from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import { refuseUnknownMembers } from '../../reading.ts'

/** Why a paper or key was withdrawn: free text of at most 256 characters, `unspecified` when nothing is said. */
export function readReasonRequest(body: JsonObject): string {
  refuseUnknownMembers(body, ['reason'])
  const reason = body['reason'] ?? 'unspecified'
  if (body['reason'] === null || typeof reason !== 'string' || !isPlainText(reason, 256))
    throw new Refusal('invalid_input', { field: 'reason' })
  return reason
}
