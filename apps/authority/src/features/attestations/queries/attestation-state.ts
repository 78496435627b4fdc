import { sql } from 'kysely'
import type { Database } from '../../../database/database.ts'

/** An attestation as it is stored, with everything in the database that could have withdrawn it. */
export interface AttestationStateRow {
  readonly attestation_id: string
  readonly attestation_json: string
  readonly issuer_sovereign_id: string
  readonly status: string
  readonly revoked_at: string | null
  /** Sequence of the own feed in force, null before the first: every attestation of the table is our own. */
  readonly sequence: number | null
  /** How often feeds list it: imported ones of its issuer, and our own, whatever its row says. */
  readonly listed: number
}

/** One statement, so that a withdrawal cannot fall between the row and the feeds. */
const SELECT =
  'select a.attestation_id, a.attestation_json, a.issuer_sovereign_id, a.status, a.revoked_at, ' +
  '(select max(f.sequence) from own_revocation_feeds f) as sequence, ' +
  '(select count(*) from imported_sovereign_revocations r ' +
  'where r.issuer_sovereign_id = a.issuer_sovereign_id and r.attestation_id = a.attestation_id) + ' +
  '(select count(*) from own_feed_ids f where f.attestation_id = a.attestation_id) as listed ' +
  'from membership_attestations a where a.attestation_id'

/** The standings of these attestations, in no order; unknown ids have none. */
export async function readAttestationStates(
  database: Database,
  ids: readonly string[],
): Promise<readonly AttestationStateRow[]> {
  if (database.native.kind === 'postgres')
    return database.native.run<AttestationStateRow>('read-standings', `${SELECT} = any($1::text[])`, [ids])
  const listed = sql<AttestationStateRow>`${sql.raw(SELECT)} in (select value from json_each(${JSON.stringify(ids)}))`
  return (await listed.execute(database.read)).rows
}
