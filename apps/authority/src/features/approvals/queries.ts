import { type ApprovalState, type Instant, isOpenState, writeSortable } from '@chancery/protocol'
import { sql } from 'kysely'
import type { Reader, Transaction } from '../../database/database.ts'
import type { Tables } from '../../database/tables.ts'
import { ANY_ID, STORED_TIME } from '../../requests/list-position.ts'
import { APPROVALS_STORED, APPROVAL_USES_STORED } from '../../database/sizes/table-ends.ts'

export type ApprovalRow = Readonly<Tables['approvals']>
export type StatementRow = Readonly<Tables['approval_statements']>

export function findApproval(db: Reader, approval_id: string): Promise<ApprovalRow | undefined> {
  return db.selectFrom('approvals').selectAll().where('approval_id', '=', approval_id).executeTakeFirst()
}

/** Of the statements of one approval or of several, in the order in which they were stored. */
export function listStatements(db: Reader, approval_ids: readonly string[]): Promise<readonly StatementRow[]> {
  if (approval_ids.length === 0) return Promise.resolve([])
  return db
    .selectFrom('approval_statements')
    .selectAll()
    .where('approval_id', 'in', approval_ids)
    .orderBy('approval_id')
    .orderBy('position')
    .execute()
}

/** The open approval of a request. Its time may be over. */
export function findOpen(db: Reader, request_digest: string): Promise<ApprovalRow | undefined> {
  return db
    .selectFrom('approvals')
    .selectAll()
    .where('request_digest', '=', request_digest)
    .where('state', 'in', ['pending', 'approved'])
    .executeTakeFirst()
}

/** The last denial of a request since a time. */
export function findDenied(db: Reader, request_digest: string, since: string): Promise<ApprovalRow | undefined> {
  return db
    .selectFrom('approvals')
    .selectAll()
    .where('request_digest', '=', request_digest)
    .where('state', '=', 'denied')
    .where('ended_at', '>', since)
    .orderBy('ended_at', 'desc')
    .limit(1)
    .executeTakeFirst()
}

export interface OpenCounts {
  readonly all: number
  readonly ofAsker: number
  readonly ofSubject: number
  /** Denials of the subject since a time. */
  readonly denied: number
}

/** Open approvals whose time is not over. */
export async function countOpen(
  db: Reader,
  asked: { readonly asker: string; readonly subject: string | null; readonly now: string; readonly since: string },
): Promise<OpenCounts> {
  const { asker, subject, now, since } = asked
  const open = isOpen(now)
  const count = async (rows: ReturnType<typeof select>): Promise<number> => {
    const row = await rows.executeTakeFirst()
    return Number(row?.count ?? 0)
  }
  const select = () => db.selectFrom('approvals').select(({ fn }) => fn.countAll().as('count'))
  return {
    all: await count(select().where(open)),
    ofAsker: await count(select().where(open).where('asker', '=', asker)),
    ofSubject: subject === null ? 0 : await count(select().where(open).where('subject', '=', subject)),
    denied:
      subject === null
        ? 0
        : await count(
            select().where('state', '=', 'denied').where('subject', '=', subject).where('ended_at', '>', since),
          ),
  }
}

function isOpen(now: string) {
  return sql<boolean>`((state = 'pending' and expires_at > ${now}) or (state = 'approved' and use_until > ${now}))`
}

export async function insertApproval(tx: Transaction, row: ApprovalRow): Promise<void> {
  await tx.query.insertInto('approvals').values(row).execute()
}

export async function updateApproval(
  tx: Transaction,
  approval_id: string,
  changes: Partial<
    Pick<ApprovalRow, 'state' | 'use_until' | 'ended_at' | 'cause' | 'used_by_decision_id' | 'history_json'>
  >,
): Promise<void> {
  await tx.query.updateTable('approvals').set(changes).where('approval_id', '=', approval_id).execute()
}

/** The signed request takes the place of its draft, in the same transaction. */
export async function storeSignedRequest(tx: Transaction, approval_id: string, request_json: string): Promise<void> {
  await tx.query.updateTable('approvals').set({ request_json }).where('approval_id', '=', approval_id).execute()
}

export async function insertStatement(tx: Transaction, row: StatementRow): Promise<void> {
  await tx.query.insertInto('approval_statements').values(row).execute()
}

export function findStatement(db: Reader, statement_id: string): Promise<StatementRow | undefined> {
  return db.selectFrom('approval_statements').selectAll().where('statement_id', '=', statement_id).executeTakeFirst()
}

/** Open approvals whose time is over, the longest first. */
export function listOverdue(db: Reader, now: string, limit: number): Promise<readonly ApprovalRow[]> {
  return db
    .selectFrom('approvals')
    .selectAll()
    .where((eb) =>
      eb.or([
        eb.and([eb('state', '=', 'pending'), eb('expires_at', '<=', now)]),
        eb.and([eb('state', '=', 'approved'), eb('use_until', '<=', now)]),
      ]),
    )
    .orderBy('opened_at')
    .limit(limit)
    .execute()
}

/** Pending approvals whose time is not over. */
export function listPending(db: Reader, now: string, limit: number): Promise<readonly ApprovalRow[]> {
  return db
    .selectFrom('approvals')
    .selectAll()
    .where('state', '=', 'pending')
    .where('expires_at', '>', now)
    .orderBy('opened_at')
    .orderBy('approval_id')
    .limit(limit)
    .execute()
}

/** Open approvals whose time is not over. */
export async function countOpenApprovals(db: Reader, now: Instant): Promise<number> {
  const row = await db
    .selectFrom('approvals')
    .select(({ fn }) => fn.countAll().as('count'))
    .where(isOpen(writeSortable(now)))
    .executeTakeFirst()
  return Number(row?.count ?? 0)
}

/** Pending approvals, those that end first. */
export function listWaiting(
  db: Reader,
  now: Instant,
): Promise<readonly Pick<ApprovalRow, 'approval_id' | 'opened_at' | 'expires_at'>[]> {
  return db
    .selectFrom('approvals')
    .select(['approval_id', 'opened_at', 'expires_at'])
    .where('state', '=', 'pending')
    .where('expires_at', '>', writeSortable(now))
    .orderBy('expires_at')
    .limit(MAX_WAITING)
    .execute()
}

const MAX_WAITING = 1000

export async function countStates(db: Reader): Promise<ReadonlyMap<ApprovalState, number>> {
  const rows = await db
    .selectFrom('approvals')
    .select(({ fn }) => ['state', fn.countAll().as('count')])
    .where('state', 'in', ['pending', 'approved'])
    .groupBy('state')
    .execute()
  return new Map(rows.map(({ state, count }) => [state, Number(count)]))
}

/** When gates that ask for the first use were last approved. */
export async function findUses(db: Reader, keys: readonly string[]): Promise<ReadonlyMap<string, string>> {
  if (keys.length === 0) return new Map()
  const rows = await db.selectFrom('approval_uses').selectAll().where('use_key', 'in', keys).execute()
  return new Map(rows.map(({ use_key, used_at }) => [use_key, used_at]))
}

export async function storeUses(tx: Transaction, keys: readonly string[], used_at: string): Promise<void> {
  for (const use_key of keys)
    await tx.query
      .insertInto('approval_uses')
      .values({ use_key, used_at })
      .onConflict((conflict) => conflict.column('use_key').doUpdateSet({ used_at }))
      .execute()
}

const REMOVED_AT_ONCE = 1000

/** Removes approvals and first uses whose time in this database is over. */
export async function removeOld(tx: Transaction, now: Instant): Promise<void> {
  const rows = await tx.query
    .selectFrom('approvals')
    .select('approval_id')
    .where('ended_at', '<', writeSortable(now - APPROVALS_STORED))
    .limit(REMOVED_AT_ONCE)
    .execute()
  const ids = rows.map(({ approval_id }) => approval_id)
  if (ids.length > 0) {
    await tx.query.deleteFrom('approval_statements').where('approval_id', 'in', ids).execute()
    await tx.query.deleteFrom('approvals').where('approval_id', 'in', ids).execute()
  }
  await tx.query
    .deleteFrom('approval_uses')
    .where('used_at', '<', writeSortable(now - APPROVAL_USES_STORED))
    .execute()
}

const OLDEST_FIRST = [
  { column: 'opened_at', form: STORED_TIME },
  { column: 'approval_id', form: ANY_ID },
] as const

/** Approvals of a state, or all. One whose time is over counts as expired. */
export function approvalList(db: Reader, state: ApprovalState | 'all', now: string) {
  const rows = db.selectFrom('approvals').selectAll()
  const isOver = sql<boolean>`((state = 'pending' and expires_at <= ${now}) or (state = 'approved' and use_until <= ${now}))`
  const order = OLDEST_FIRST
  if (state === 'all') return { rows, order }
  if (state === 'expired') return { rows: rows.where((eb) => eb.or([eb('state', '=', state), isOver])), order }
  const ofState = rows.where('state', '=', state)
  return { rows: isOpenState(state) ? ofState.where(sql<boolean>`not ${isOver}`) : ofState, order }
}
