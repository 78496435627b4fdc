import { sql } from 'kysely'
import { type Reader, type Transaction, assertStored } from '../../database/database.ts'
import { selectByIds } from '../../database/batched-read.ts'
import { byIssue } from '../../requests/list-position.ts'

export interface AttestationRow {
  readonly attestation_id: string
  readonly issuer_sovereign_id: string
  readonly subject_id: string
  readonly status: string
  readonly attestation_json: string
  readonly issued_at: string
  /** 1 when its claims say that the mesh may show it. */
  readonly published: number
  readonly revoked_at: string | null
  readonly revocation_reason: string | null
}

export interface AttestationFilter {
  readonly issuer_sovereign_id: string | undefined
  readonly subject_id: string | undefined
  readonly status: string | undefined
  /** Only those whose claims say that the mesh may show them. */
  readonly isPublished: boolean
}

export async function insertAttestation(
  tx: Transaction,
  row: Omit<AttestationRow, 'revoked_at' | 'revocation_reason' | 'status'>,
): Promise<void> {
  const stored = await tx.query
    .insertInto('membership_attestations')
    .values({ ...row, status: 'active', revoked_at: null, revocation_reason: null })
    .returning('attestation_json')
    .executeTakeFirst()
  assertStored(row.attestation_json, stored?.attestation_json)
}

export function findAttestation(db: Reader, attestation_id: string): Promise<AttestationRow | undefined> {
  return db
    .selectFrom('membership_attestations')
    .selectAll()
    .where('attestation_id', '=', attestation_id)
    .executeTakeFirst()
}

/** One statement decides; false when it was revoked before. */
export async function markAttestationRevoked(
  tx: Transaction,
  attestation_id: string,
  revoked_at: string,
  revocation_reason: string,
): Promise<boolean> {
  const row = await tx.query
    .updateTable('membership_attestations')
    .set({ status: 'revoked', revoked_at, revocation_reason })
    .where('attestation_id', '=', attestation_id)
    .where('status', '!=', 'revoked')
    .returning('attestation_id')
    .executeTakeFirst()
  return row !== undefined
}

export function attestationList(db: Reader, filter: AttestationFilter) {
  return { rows: selectAttestations(db, filter).selectAll(), order: byIssue('attestation_id') }
}

export function selectAttestations(db: Reader, filter: AttestationFilter) {
  let query = db.selectFrom('membership_attestations')
  if (filter.issuer_sovereign_id !== undefined)
    query = query.where('issuer_sovereign_id', '=', filter.issuer_sovereign_id)
  if (filter.subject_id !== undefined) query = query.where('subject_id', '=', filter.subject_id)
  if (filter.status !== undefined) query = query.where('status', '=', filter.status)
  // Written out: the index is of these rows only, and a bound value would not let the database see that it fits.
  if (filter.isPublished) query = query.where(sql<boolean>`published = 1`)
  return query
}

/** Reasons of everything this sovereign has revoked: the content of its feed. */
export async function listRevokedAttestations(
  tx: Reader,
): Promise<readonly { attestation_id: string; revocation_reason: string | null }[]> {
  return tx
    .selectFrom('membership_attestations')
    .select(['attestation_id', 'revocation_reason'])
    .where('status', '=', 'revoked')
    .union(tx.selectFrom('recovered_revocations').select(['attestation_id', 'revocation_reason']))
    .execute()
}

/**
 * True when this authority issued and revoked it: by its row, or by the ids of the own feed, whatever the row contains.
 */
export async function isOwnAttestationRevoked(db: Reader, attestation_id: string): Promise<boolean> {
  const row = await db
    .selectFrom('membership_attestations')
    .leftJoin('own_feed_ids', 'own_feed_ids.attestation_id', 'membership_attestations.attestation_id')
    .select(['membership_attestations.status', 'own_feed_ids.attestation_id as listed'])
    .where('membership_attestations.attestation_id', '=', attestation_id)
    .executeTakeFirst()
  if (row !== undefined) return row.status === 'revoked' || row.listed !== null
  // Issued and revoked after the backup of this restored database: only the revocation is known.
  const recovered = await db
    .selectFrom('recovered_revocations')
    .select('attestation_id')
    .where('attestation_id', '=', attestation_id)
    .executeTakeFirst()
  return recovered !== undefined
}

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
