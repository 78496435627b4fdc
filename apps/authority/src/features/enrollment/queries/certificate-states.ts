import { selectByIds } from '../../../database/batched-read.ts'
import type { CertificateState } from './heartbeats.ts'

export interface StoredCertificate extends CertificateState {
  readonly cert_id: string
  readonly roles_json: string
}

type StateRow = Omit<StoredCertificate, 'compromised'> & {
  readonly listed: boolean | number
  readonly compromised: boolean | number
}

/**
 * Row and revocation list in one statement, so that no revocation is committed between them. A row that was edited back
 * to issued is still revoked by the list.
 */
const SELECT = `select c.cert_id, c.node_public_key, c.roles_json, c.status, c.issued_at, c.expires_at, c.revoke_after,
  exists (select 1 from crl_entries e where e.cert_id = c.cert_id) as listed,
  (exists (select 1 from issued_certs k
    where k.node_public_key = c.node_public_key and k.revocation_reason = 'key_compromise')
  or exists (select 1 from issued_certs k join crl_entries e on e.cert_id = k.cert_id
    where k.node_public_key = c.node_public_key and e.entry_json like '%"reason":"key_compromise"%')) as compromised
from issued_certs c where c.cert_id`

/** The certificates with these ids, in no order; unknown ids have none. */
export const READ_CERTIFICATES = selectByIds<StateRow>('read-certificate-states', (isOneOf) => `${SELECT} ${isOneOf}`)

/** The certificate with its state by the row and by the revocation list. */
export function toStoredCertificate({ listed, compromised, ...row }: StateRow): StoredCertificate {
  return { ...row, status: listed === true || listed === 1 ? 'revoked' : row.status, compromised: Boolean(compromised) }
}
