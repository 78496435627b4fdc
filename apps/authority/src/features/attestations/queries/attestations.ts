import { sql } from 'kysely'
import { type Reader, type Transaction, assertStored } from '../../../database/database.ts'
import { countUpTo } from '../../../database/cached-count.ts'
import { type IssuePosition, isAfter } from '../../../requests/list-position.ts'

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

export async function listAttestations(
  db: Reader,
  filter: AttestationFilter,
  page: { readonly limit: number; readonly offset: number; readonly after: IssuePosition | undefined },
): Promise<readonly AttestationRow[]> {
  let query = filtered(db, filter).selectAll()
  if (page.after !== undefined) query = query.where(isAfter('attestation_id', page.after))
  return query.orderBy('issued_at').orderBy('attestation_id').offset(page.offset).limit(page.limit).execute()
}

/** Exact up to the bound, null above. */
export function countAttestations(db: Reader, filter: AttestationFilter, bound: number): Promise<number | null> {
  return countUpTo(db, filtered(db, filter).select('attestation_id'), bound)
}

export async function countAllAttestations(
  db: Reader,
  filter: Pick<AttestationFilter, 'status' | 'isPublished'>,
): Promise<number> {
  const row = await filtered(db, { ...filter, issuer_sovereign_id: undefined, subject_id: undefined })
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirst()
  return Number(row?.count ?? 0)
}

function filtered(db: Reader, filter: AttestationFilter) {
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
