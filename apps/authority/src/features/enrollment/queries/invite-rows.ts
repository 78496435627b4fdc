import { type ExpressionBuilder, type ExpressionWrapper, type SqlBool, sql } from 'kysely'
import type { Reader, Transaction } from '../../../database/database.ts'
import { countOf } from '../../../database/large-tables.ts'
import { STORED_TIME } from '../../../requests/list-position.ts'
import type { Tables } from '../../../database/tables.ts'

export type InviteRow = Tables['invite_tokens']

export type NewInvite = Omit<InviteRow, 'used_at' | 'used_by_key' | 'withdrawn_at' | 'withdrawn_by'>

/** Rows of one statement: SQLite takes a bounded number of values. */
const ROWS_AT_ONCE = 500

export async function insertInvites(tx: Transaction, rows: readonly NewInvite[]): Promise<void> {
  for (let at = 0; at < rows.length; at += ROWS_AT_ONCE) {
    const values = rows
      .slice(at, at + ROWS_AT_ONCE)
      .map((row) => ({ ...row, used_at: null, used_by_key: null, withdrawn_at: null, withdrawn_by: null }))
    await tx.query.insertInto('invite_tokens').values(values).execute()
  }
}

export const INVITE_STATES = ['open', 'used', 'withdrawn', 'expired', 'all'] as const
export type InviteState = (typeof INVITE_STATES)[number]

export interface InviteFilter {
  readonly state: InviteState
  readonly created_by: string | undefined
  readonly batch_id: string | undefined
  readonly now: string
}

/** Oldest first. */
export function inviteList(db: Reader, { state, created_by, batch_id, now }: InviteFilter) {
  let rows = db.selectFrom('invite_tokens').selectAll()
  if (created_by !== undefined) rows = rows.where('created_by', '=', created_by)
  if (batch_id !== undefined) rows = rows.where('batch_id', '=', batch_id)
  if (state !== 'all') rows = rows.where((eb) => isIn(eb, state, now))
  const order = [
    { column: 'created_at', form: STORED_TIME },
    { column: 'token_digest', form: /[0-9a-f]{64}/ },
  ] as const
  return { rows, order }
}

type Invites = ExpressionBuilder<Tables, 'invite_tokens'>

function isIn(
  eb: Invites,
  state: Exclude<InviteState, 'all'>,
  now: string,
): ExpressionWrapper<Tables, 'invite_tokens', SqlBool> {
  switch (state) {
    case 'open':
      return eb.and([eb('used_at', 'is', null), eb('expires_at', '>=', now)])
    case 'used':
      return eb.and([eb('used_at', 'is not', null), eb('withdrawn_at', 'is', null)])
    case 'withdrawn':
      return eb.and([eb('withdrawn_at', 'is not', null)])
    case 'expired':
      return eb.and([eb('used_at', 'is', null), eb('expires_at', '<', now)])
  }
}

export function stateOf(row: InviteRow, now: string): Exclude<InviteState, 'all'> {
  if (row.withdrawn_at !== null) return 'withdrawn'
  if (row.used_at !== null) return 'used'
  return row.expires_at < now ? 'expired' : 'open'
}

/** The invites that a withdrawal selects. */
export type InviteChoice =
  | { readonly by: 'fingerprints'; readonly fingerprints: readonly string[] }
  | { readonly by: 'maker'; readonly created_by: string }
  | { readonly by: 'batch'; readonly batch_id: string }

export const FINGERPRINT_CHARACTERS = 16

const fingerprintColumn = sql<string>`substr(token_digest, 1, 16)`

function chosen(eb: Invites, choice: InviteChoice): ExpressionWrapper<Tables, 'invite_tokens', SqlBool> {
  switch (choice.by) {
    case 'fingerprints':
      return eb.and([eb(fingerprintColumn, 'in', [...choice.fingerprints])])
    case 'maker':
      return eb.and([eb('created_by', '=', choice.created_by)])
    case 'batch':
      return eb.and([eb('batch_id', '=', choice.batch_id)])
  }
}

export function findFingerprints(
  tx: Reader,
  choice: InviteChoice,
): Promise<readonly Pick<InviteRow, 'token_digest' | 'created_by'>[]> {
  return tx
    .selectFrom('invite_tokens')
    .select(['token_digest', 'created_by'])
    .where((eb) => chosen(eb, choice))
    .orderBy('token_digest')
    .execute()
}

/** True when one of the selected invites was made by another key, or has no stored maker. */
export async function isOfOthers(tx: Reader, choice: InviteChoice, key_id: string): Promise<boolean> {
  const row = await tx
    .selectFrom('invite_tokens')
    .select('token_digest')
    .where((eb) => chosen(eb, choice))
    .where((eb) => eb.or([eb('created_by', 'is', null), eb('created_by', '!=', key_id)]))
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

export function countOpen(tx: Reader, choice: InviteChoice, now: string): Promise<number> {
  return countOf(tx.selectFrom('invite_tokens').where((eb) => eb.and([chosen(eb, choice), isIn(eb, 'open', now)])))
}

/**
 * A withdrawn invite counts as spent: every release refuses a spent invite. Returns their number, and the first
 * fingerprints: a stolen key may have made more than fit in memory.
 */
export async function withdrawOpen(
  tx: Transaction,
  choice: InviteChoice,
  { now, withdrawn_by }: { readonly now: string; readonly withdrawn_by: string },
): Promise<{ readonly count: number; readonly fingerprints: readonly string[] }> {
  const { numUpdatedRows } = await tx.query
    .updateTable('invite_tokens')
    .set({ used_at: now, withdrawn_at: now, withdrawn_by })
    .where((eb) => eb.and([chosen(eb, choice), isIn(eb, 'open', now)]))
    .executeTakeFirstOrThrow()
  if (numUpdatedRows === 0n) return { count: 0, fingerprints: [] }
  const rows = await tx.query
    .selectFrom('invite_tokens')
    .select(fingerprintColumn.as('fingerprint'))
    .where((eb) => chosen(eb, choice))
    .where('withdrawn_at', '=', now)
    .where('withdrawn_by', '=', withdrawn_by)
    .orderBy('token_digest')
    .limit(FINGERPRINTS_LISTED)
    .execute()
  return { count: Number(numUpdatedRows), fingerprints: rows.map(({ fingerprint }) => fingerprint) }
}

/** As many as one batch has; the rows themselves say the rest. */
const FINGERPRINTS_LISTED = 1000
