import type { Database, Statement } from '../../../database/database.ts'

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
