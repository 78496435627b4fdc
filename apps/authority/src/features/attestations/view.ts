import type { AttestationRow } from './queries/attestations.ts'
import { canonicalJson } from '@chancery/protocol'
import { toWireTime } from '../../requests/list-position.ts'

/** Returns a row for a response: the signed record unchanged, and its state next to it. */
export function rowText(row: AttestationRow): string {
  const rest = canonicalJson({
    status: row.status,
    revoked_at: toWireTime(row.revoked_at),
    revocation_reason: row.revocation_reason,
  })
  return `{"attestation":${row.attestation_json},${rest.slice(1)}`
}
