import { selectByIds } from '../../../database/batched-read.ts'

/** An attestation as it is stored, with everything in the database that can revoke it. */
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

/** One statement, so that no revocation is committed between reading the row and the feeds. */
const SELECT =
  'select a.attestation_id, a.attestation_json, a.issuer_sovereign_id, a.status, a.revoked_at, ' +
  '(select max(f.sequence) from own_revocation_feeds f) as sequence, ' +
  '(select count(*) from imported_sovereign_revocations r ' +
  'where r.issuer_sovereign_id = a.issuer_sovereign_id and r.attestation_id = a.attestation_id) + ' +
  '(select count(*) from own_feed_ids f where f.attestation_id = a.attestation_id) as listed ' +
  'from membership_attestations a where a.attestation_id'

/** The states of these attestations, in no order; unknown ids have none. */
export const READ_STATES = selectByIds<AttestationStateRow>(
  'read-attestation-states',
  (isOneOf) => `${SELECT} ${isOneOf}`,
)
