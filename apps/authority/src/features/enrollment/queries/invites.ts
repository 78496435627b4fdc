import type { Database, Statement } from '../../../database/database.ts'
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

export interface InviteLookup {
  readonly token_digest: string
  readonly node_public_key: string
}

export interface InviteDetails {
  readonly roles_json: string
  readonly max_validity_hours: number
  readonly expires_at: string
  readonly used_at: string | null
  readonly recipient_public_key: string | null
  readonly label: string | null
  /** The certificate with which the key of the request was revoked as compromised, if any. */
  readonly compromised_cert_id: string | null
}

type FoundInvite = InviteDetails & { readonly n: number }

const FIND_INVITES: Statement<readonly InviteLookup[], FoundInvite> = {
  name: 'find-invites',
  isRead: true,
  postgres: {
    text:
      'select i.n::int as n, t.assigned_roles_json as roles_json, t.max_validity_hours, t.expires_at, t.used_at, t.recipient_public_key, t.label, ' +
      "(select cert_id from issued_certs k where k.node_public_key = i.node_public_key and k.revocation_reason = 'key_compromise' limit 1) as compromised_cert_id " +
      'from unnest($1::text[], $2::text[]) with ordinality as i(token_digest, node_public_key, n) join invite_tokens t on t.token_digest = i.token_digest',
    values: (rows) => [rows.map((row) => row.token_digest), rows.map((row) => row.node_public_key)],
  },
  sqlite(prepare, rows) {
    const find = prepare(
      'select assigned_roles_json as roles_json, max_validity_hours, expires_at, used_at, recipient_public_key, label, ' +
        "(select cert_id from issued_certs where node_public_key = ?2 and revocation_reason = 'key_compromise' limit 1) as compromised_cert_id " +
        'from invite_tokens where token_digest = ?1',
    )
    return rows.flatMap((row, index) => {
      const found = find.get(row.token_digest, row.node_public_key) as unknown as InviteDetails | undefined
      return found === undefined ? [] : [{ ...found, n: index + 1 }]
    })
  },
}

/** Finds invites, and for each whether the key of the request is compromised: one statement for all queued joins. */
export async function findInvites(
  database: Pick<Database, 'run'>,
  rows: readonly InviteLookup[],
): Promise<readonly (InviteDetails | undefined)[]> {
  const byPosition = new Map((await database.run(FIND_INVITES, rows)).map((row) => [row.n, row]))
  return rows.map((_, index) => byPosition.get(index + 1))
}
