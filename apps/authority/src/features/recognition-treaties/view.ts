import { type Instant, canonicalJson, treatyLifecycle } from '@chancery/protocol'
import { toWireTime } from '../../requests/list-position.ts'
import type { TreatyRow } from './queries.ts'

/** Returns a row for a response: the signed record unchanged, and its state next to it (protocol/core 15.2). */
export function rowText(row: TreatyRow, now: Instant): string {
  const revoked_at = toWireTime(row.revoked_at)
  const status = row.revoked_in_audit ? 'revoked' : row.status
  const lifecycle = treatyLifecycle({ ...row, status, revoked_at }, now)
  const rest = canonicalJson({ status, revoked_at, revocation_reason: row.revocation_reason, lifecycle })
  return `{"treaty":${row.treaty_json},${rest.slice(1)}`
}
