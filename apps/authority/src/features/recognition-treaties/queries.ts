import type { Database, Reader, Transaction } from '../../database/database.ts'
import { countUpTo } from '../../database/large-table.ts'
import { assertStored } from '../../database/assert-stored.ts'
import { isRevokedInAudit } from '../../audit/revoked-treaties.ts'
import { isAfter } from '../../requests/list-position.ts'
import type { IssuePosition } from '../../requests/list-position.ts'

export interface TreatyRow {
  readonly treaty_id: string
  readonly issuer_sovereign_id: string
  readonly subject_sovereign_id: string
  readonly status: string
  readonly treaty_json: string
  readonly issued_at: string
  /** The text as signed. */
  readonly valid_from: string
  readonly expires_at: string
  readonly revoked_at: string | null
  readonly revocation_reason: string | null
  readonly revoked_in_audit: boolean | number
}

export interface TreatyFilter {
  readonly issuer_sovereign_id: string | undefined
  readonly subject_sovereign_id: string | undefined
  readonly status: string | undefined
}

export async function insertTreaty(
  tx: Transaction,
  row: Omit<TreatyRow, 'status' | 'revoked_at' | 'revocation_reason' | 'revoked_in_audit'>,
): Promise<void> {
  const stored = await tx.query
    .insertInto('recognition_treaties')
    .values({ ...row, status: 'active', revoked_at: null, revocation_reason: null })
    .returning('treaty_json')
    .executeTakeFirst()
  assertStored(row.treaty_json, stored?.treaty_json)
}

/** The database, and how its engine reads the audit log. */
type TreatyReader = Pick<Database, 'engine' | 'read'>

export function findTreaty(
  { engine, read }: TreatyReader,
  treaty_id: string,
  tx: Reader = read,
): Promise<TreatyRow | undefined> {
  return tx
    .selectFrom('recognition_treaties')
    .selectAll()
    .select(isRevokedInAudit(engine).as('revoked_in_audit'))
    .where('treaty_id', '=', treaty_id)
    .executeTakeFirst()
}

/** One statement decides. Returns false when it was revoked before. */
export async function markTreatyRevoked(
  tx: Transaction,
  treaty_id: string,
  revoked_at: string,
  revocation_reason: string,
): Promise<boolean> {
  const row = await tx.query
    .updateTable('recognition_treaties')
    .set({ status: 'revoked', revoked_at, revocation_reason })
    .where('treaty_id', '=', treaty_id)
    .where('status', '!=', 'revoked')
    .returning('treaty_id')
    .executeTakeFirst()
  return row !== undefined
}

export async function listTreaties(
  { engine, read }: TreatyReader,
  filter: TreatyFilter,
  page: { readonly limit: number; readonly offset: number; readonly after: IssuePosition | undefined },
): Promise<readonly TreatyRow[]> {
  let query = filtered(read, filter).selectAll().select(isRevokedInAudit(engine).as('revoked_in_audit'))
  if (page.after !== undefined) query = query.where(isAfter('treaty_id', page.after))
  return query.orderBy('issued_at').orderBy('treaty_id').offset(page.offset).limit(page.limit).execute()
}

export function countTreaties(db: Reader, filter: TreatyFilter, bound: number): Promise<number | null> {
  return countUpTo(db, filtered(db, filter).select('treaty_id'), bound)
}

function filtered(db: Reader, filter: TreatyFilter) {
  let query = db.selectFrom('recognition_treaties')
  if (filter.issuer_sovereign_id !== undefined)
    query = query.where('issuer_sovereign_id', '=', filter.issuer_sovereign_id)
  if (filter.subject_sovereign_id !== undefined)
    query = query.where('subject_sovereign_id', '=', filter.subject_sovereign_id)
  if (filter.status !== undefined) query = query.where('status', '=', filter.status)
  return query
}

/** Own, unrevoked treaties for a sovereign. The caller checks whether they are in force now. */
export function listTreatiesFor(
  { engine, read }: TreatyReader,
  own: string,
  subject: string,
): Promise<readonly TreatyRow[]> {
  return read
    .selectFrom('recognition_treaties')
    .selectAll()
    .select(isRevokedInAudit(engine).as('revoked_in_audit'))
    .where('issuer_sovereign_id', '=', own)
    .where('subject_sovereign_id', '=', subject)
    .where('status', '=', 'active')
    .execute()
}

/** Own treaties for a sovereign, newest first: all of them, or the unrevoked ones that have not ended. */
export function listNewestFor(
  { engine: backend, read: db }: TreatyReader,
  own: string,
  subject: string,
  page: { readonly limit: number; readonly unendedAt: string | undefined },
): Promise<readonly TreatyRow[]> {
  let query = db
    .selectFrom('recognition_treaties')
    .selectAll()
    .select(isRevokedInAudit(backend).as('revoked_in_audit'))
    .where('issuer_sovereign_id', '=', own)
    .where('subject_sovereign_id', '=', subject)
  if (page.unendedAt !== undefined)
    query = query.where('status', '=', 'active').where('expires_at', '>', page.unendedAt)
  return query.orderBy('issued_at', 'desc').orderBy('treaty_id').limit(page.limit).execute()
}
