import type { Instant, TreatyLifecycle } from '@chancery/protocol'
import { sql } from 'kysely'
import { type Database, type Reader, type Statement, type Transaction, assertStored } from '../../database/database.ts'
import { isRevokedInAudit, revokedInAudit } from '../../audit/revoked-treaties.ts'
import { ANY_ID, byIssue } from '../../requests/list-position.ts'
import { type Condition, type TreatySort, lifecycleIs } from './requests.ts'

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

type TreatyLifecycleState = TreatyLifecycle['state']

export interface TreatyFilter {
  readonly issuer_sovereign_id: string | undefined
  readonly subject_sovereign_id: string | undefined
  readonly status: string | undefined
  readonly lifecycle: TreatyLifecycleState | undefined
  /** First characters of the subject. */
  readonly prefix: string | undefined
  readonly now: Instant
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
  return selectTreaties(engine, tx).where('treaty_id', '=', treaty_id).executeTakeFirst()
}

function selectTreaties(engine: Database['engine'], db: Reader) {
  return db.selectFrom('recognition_treaties').selectAll().select(isRevokedInAudit(engine).as('revoked_in_audit'))
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

/** As signed. */
const TREATY_TIME = /\d{4}-\d\d-\d\dT[0-9:.]{8,15}Z/
const BY_END = [
  { column: 'expires_at', form: TREATY_TIME },
  { column: 'treaty_id', form: ANY_ID },
] as const

/** Stored treaties, oldest first or by their end. */
export function treatyList({ engine, read }: TreatyReader, filter: TreatyFilter, sort: TreatySort) {
  let query = selectTreaties(engine, read)
  if (filter.issuer_sovereign_id !== undefined)
    query = query.where('issuer_sovereign_id', '=', filter.issuer_sovereign_id)
  if (filter.subject_sovereign_id !== undefined)
    query = query.where('subject_sovereign_id', '=', filter.subject_sovereign_id)
  if (filter.status !== undefined) query = query.where('status', '=', filter.status)
  if (filter.lifecycle !== undefined) query = query.where(lifecycleIs(filter.lifecycle, filter.now))
  if (filter.prefix !== undefined) query = query.where(subjectBegins(engine, filter.prefix))
  return sort === 'issued_at'
    ? { rows: query, order: byIssue('treaty_id') }
    : { rows: query, order: BY_END, name: 'end|' }
}

/** One range of the index by subject, whose order is that of the bytes on both engines. */
function subjectBegins(engine: Database['engine'], prefix: string): Condition {
  const subject = engine === 'postgres' ? sql`subject_sovereign_id collate "C"` : sql`subject_sovereign_id`
  return sql<boolean>`(${subject} >= ${prefix} and ${subject} < ${`${prefix}\u{10FFFF}`})`
}

/** Own, unrevoked treaties for a sovereign. The caller checks whether they are in force now. */
export function listTreatiesFor(
  { engine, read }: TreatyReader,
  own: string,
  subject: string,
): Promise<readonly TreatyRow[]> {
  return selectTreaties(engine, read)
    .where('issuer_sovereign_id', '=', own)
    .where('subject_sovereign_id', '=', subject)
    .where('status', '=', 'active')
    .execute()
}

/** The newest own treaties with a subject, ended ones included. */
export function listNewestFor(
  { engine, read }: TreatyReader,
  own: string,
  subject: string,
  limit: number,
): Promise<readonly TreatyRow[]> {
  return selectTreaties(engine, read)
    .where('issuer_sovereign_id', '=', own)
    .where('subject_sovereign_id', '=', subject)
    .orderBy('issued_at', 'desc')
    .orderBy('treaty_id')
    .limit(limit)
    .execute()
}

interface UnendedRequest {
  readonly own: string
  readonly subjects: readonly string[]
  readonly now: string
  /** Of each subject. */
  readonly limit: number
}

const selectUnended = (engine: Database['engine'], own: string, subject: string, now: string, limit: string): string =>
  `select *, ${revokedInAudit(engine)} as revoked_in_audit from recognition_treaties
  where issuer_sovereign_id = ${own} and subject_sovereign_id = ${subject} and status = 'active' and expires_at > ${now}
  order by issued_at desc, treaty_id limit ${limit}`

/** The newest own treaties with each subject that are active and have not ended. Read for decisions on partners. */
const LIST_UNENDED: Statement<UnendedRequest, TreatyRow> = {
  name: 'list-unended-treaties',
  isRead: true,
  postgres: {
    text: `select r.* from unnest($2::text[]) as t(subject)
      cross join lateral (${selectUnended('postgres', '$1', 't.subject', '$3', '$4')}) as r
      order by r.issued_at desc, r.treaty_id`,
    values: ({ own, subjects, now, limit }) => [own, subjects, now, limit],
  },
  sqlite: (prepare, { own, subjects, now, limit }) =>
    subjects.flatMap(
      (subject) => prepare(selectUnended('sqlite', '?', '?', '?', '?')).all(own, subject, now, limit) as never,
    ),
}

export function listUnended(database: Pick<Database, 'run'>, request: UnendedRequest): Promise<readonly TreatyRow[]> {
  return database.run(LIST_UNENDED, request)
}
