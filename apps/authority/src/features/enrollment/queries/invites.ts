import type { Engine } from '../../../database/database.ts'

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
  /** The certificate that shows the asking key burnt, if there is one. */
  readonly compromised_cert_id: string | null
}

/** Looks up invites, and with each whether the asking key is burnt: one statement for all joins that wait. */
export async function findInvites(
  engine: Engine,
  rows: readonly InviteLookup[],
): Promise<readonly (InviteDetails | undefined)[]> {
  if (engine.kind === 'sqlite') {
    return engine.write((prepare) => {
      const find = prepare(
        'select assigned_roles_json as roles_json, max_validity_hours, expires_at, used_at, recipient_public_key, ' +
          "(select cert_id from issued_certs where node_public_key = ?2 and revocation_reason = 'key_compromise' limit 1) as compromised_cert_id " +
          'from invite_tokens where token_digest = ?1',
      )
      return rows.map((row) => find.get(row.token_digest, row.node_public_key) as unknown as InviteDetails | undefined)
    })
  }
  const found = await engine.run<InviteDetails & { n: number }>(
    'find-invites',
    'select i.n::int as n, t.assigned_roles_json as roles_json, t.max_validity_hours, t.expires_at, t.used_at, t.recipient_public_key, ' +
      "(select cert_id from issued_certs k where k.node_public_key = i.node_public_key and k.revocation_reason = 'key_compromise' limit 1) as compromised_cert_id " +
      'from unnest($1::text[], $2::text[]) with ordinality as i(token_digest, node_public_key, n) join invite_tokens t on t.token_digest = i.token_digest',
    [rows.map((row) => row.token_digest), rows.map((row) => row.node_public_key)],
  )
  const byPosition = new Map(found.map((row) => [row.n, row]))
  return rows.map((_, index) => byPosition.get(index + 1))
}
