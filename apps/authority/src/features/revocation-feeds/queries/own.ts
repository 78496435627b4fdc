import { readJson, readRevocationFeed, sha256Hex } from '@chancery/protocol'
import { sql } from 'kysely'
import { type Database, type Reader, type Transaction, assertStored } from '../../../database/database.ts'
import { countUpTo, deleteInParts } from '../../../database/large-tables.ts'
import type { ReasonedId } from '../feed-text.ts'

/** Maximum size of a stored feed. */
export const FEED_LIMITS = { maxDepth: 64, maxValues: 2_000_000, maxNames: 200_000 }

export interface OwnFeed {
  readonly sequence: number
  readonly feed_json: string
  readonly issued_at: string
  /** Null in a version without parts, of an earlier release. */
  readonly index_json: string | null
  readonly total_ids: number | null
  readonly cause: string | null
  readonly feed_id: string | null
  readonly digest: string | null
  readonly ids: number | null
}

export function findOwnFeed(db: Reader): Promise<OwnFeed | undefined> {
  return db.selectFrom('own_revocation_feeds').selectAll().orderBy('sequence', 'desc').limit(1).executeTakeFirst()
}

/** The current own feed without its text. */
export function findOwnFeedHead(db: Reader): Promise<Omit<OwnFeed, 'feed_json'> | undefined> {
  return db
    .selectFrom('own_revocation_feeds')
    .select(['sequence', 'issued_at', 'index_json', 'total_ids', 'cause', 'feed_id', 'digest', 'ids'])
    .orderBy('sequence', 'desc')
    .limit(1)
    .executeTakeFirst()
}

/** When the current own feed was signed, without its text. */
export async function findOwnFeedTime(db: Reader): Promise<string | undefined> {
  const row = await db
    .selectFrom('own_revocation_feeds')
    .select('issued_at')
    .orderBy('sequence', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row?.issued_at
}

/** Published ids of the current own feed. 0 in a version of an earlier release. */
export async function findOwnFeedTotal(db: Reader): Promise<number> {
  const row = await db
    .selectFrom('own_revocation_feeds')
    .select('total_ids')
    .orderBy('sequence', 'desc')
    .limit(1)
    .executeTakeFirst()
  return Number(row?.total_ids ?? 0)
}

/** Facts of the current own feed, without its texts. */
export interface OwnFeedFacts {
  readonly sequence: number
  readonly issued_at: string
  /** In the plain form. */
  readonly ids: number
  /** Published in plain form and parts. */
  readonly total_ids: number
  readonly parts: number
  /** Ids that were left out because their attestations ended; null above a bound. */
  readonly pruned: number | null
}

/** So many pruned ids are counted exactly. */
const COUNTED_PRUNED = 10_000

export async function findOwnFeedFacts(db: Reader): Promise<OwnFeedFacts | undefined> {
  const row = await db
    .selectFrom('own_revocation_feeds')
    .select(['sequence', 'issued_at', 'ids', 'total_ids'])
    .select((eb) => eb.selectFrom('own_feed_parts').select(eb.fn.countAll<number>().as('count')).as('parts'))
    .orderBy('sequence', 'desc')
    .limit(1)
    .executeTakeFirst()
  if (row === undefined) return undefined
  const left = db.selectFrom('own_feed_ids').select('part_key').where('pruned', '=', 1)
  const pruned = await countUpTo(db, left, COUNTED_PRUNED)
  // A version of an earlier release has no such columns: until the next one, its sequence is the number of its ids.
  const ids = row.ids ?? row.sequence
  return { ...row, ids, total_ids: row.total_ids ?? ids, parts: Number(row.parts ?? 0), pruned }
}

/** One content per sequence: the sequence is the primary key. */
export async function insertOwnFeed(tx: Transaction, feed: OwnFeed): Promise<void> {
  const stored = await tx.query
    .insertInto('own_revocation_feeds')
    .values(feed)
    .returning('feed_json')
    .executeTakeFirst()
  assertStored(feed.feed_json, stored?.feed_json)
}

/** An id of the feed, and whether a stored record is still revoked. */
export interface ListedId extends ReasonedId {
  readonly attested: string | null
  readonly recovered: string | null
}

export function isWithdrawn({ attested, recovered }: ListedId): boolean {
  return attested !== null || recovered !== null
}

/** The newest ids of the feed, by time of revocation. */
export function listNewestIds(tx: Reader, limit: number): Promise<readonly ListedId[]> {
  return newestIds(tx, limit)
    .select(['f.attestation_id', 'f.revoked_at', 'f.reason', 'a.status as attested', 'r.attestation_id as recovered'])
    .execute()
}

/** How many ids the plain form has, and how many of them have a revoked record. */
export async function countNewestIds(
  tx: Reader,
  limit: number,
): Promise<{ readonly listed: number; readonly withdrawn: number }> {
  const row = await newestIds(tx, limit)
    .select((eb) => [
      eb.fn.countAll<number>().as('listed'),
      eb.fn.count<number>(eb.fn.coalesce('a.status', 'r.attestation_id')).as('withdrawn'),
    ])
    .executeTakeFirstOrThrow()
  return { listed: Number(row.listed), withdrawn: Number(row.withdrawn) }
}

/** The newest ids with the records that revoke them. */
function newestIds(tx: Reader, limit: number) {
  const newest = tx
    .selectFrom('own_feed_ids')
    .select(['attestation_id', 'revoked_at', 'reason'])
    .where('pruned', '=', 0)
    .orderBy('revoked_at', 'desc')
    .orderBy('attestation_id', 'desc')
    .limit(limit)
  return tx
    .selectFrom(newest.as('f'))
    .leftJoin('membership_attestations as a', (join) =>
      join.onRef('a.attestation_id', '=', 'f.attestation_id').on('a.status', '=', 'revoked'),
    )
    .leftJoin('recovered_revocations as r', 'r.attestation_id', 'f.attestation_id')
}

const IDS_AT_ONCE = 500

/** Returns which of these ids the feed has, pruned ones included. */
export function listStoredIds(tx: Reader, ids: readonly string[]): Promise<ReadonlySet<string>> {
  return amongIds(ids, (some) =>
    tx.selectFrom('own_feed_ids').select('attestation_id').where('attestation_id', 'in', some).execute(),
  )
}

/** Returns which of these ids have a revoked record. */
export function listRevoked(tx: Reader, ids: readonly string[]): Promise<ReadonlySet<string>> {
  return amongIds(ids, (some) =>
    tx
      .selectFrom('membership_attestations')
      .select('attestation_id')
      .where('status', '=', 'revoked')
      .where('attestation_id', 'in', some)
      .union(tx.selectFrom('recovered_revocations').select('attestation_id').where('attestation_id', 'in', some))
      .execute(),
  )
}

async function amongIds(
  ids: readonly string[],
  find: (some: readonly string[]) => Promise<readonly { readonly attestation_id: string }[]>,
): Promise<ReadonlySet<string>> {
  const found = new Set<string>()
  for (let at = 0; at < ids.length; at += IDS_AT_ONCE)
    for (const row of await find(ids.slice(at, at + IDS_AT_ONCE))) found.add(row.attestation_id)
  return found
}

/** Replaces the text of some versions up to a sequence by a digest. */
export async function removeOldTexts(tx: Transaction, upTo: number, limit: number): Promise<void> {
  const rows = await tx.query
    .selectFrom('own_revocation_feeds')
    .select(['sequence', 'issued_at', 'cause', 'feed_id', 'digest', 'ids'])
    .where('sequence', '<=', upTo)
    .orderBy('sequence')
    .limit(limit)
    .execute()
  for (const { sequence, issued_at, cause, ...told } of rows) {
    const { feed_id, digest, ids } = told
    const facts =
      feed_id === null || digest === null || ids === null
        ? await factsOfText(tx.query, sequence)
        : { feed_id, digest, ids }
    await tx.query
      .insertInto('removed_own_feeds')
      .values({ sequence, issued_at, cause, ...facts })
      .execute()
    await tx.query.deleteFrom('own_revocation_feeds').where('sequence', '=', sequence).execute()
  }
}

/** For a version of a release without these columns. */
async function factsOfText(
  tx: Reader,
  sequence: number,
): Promise<{ readonly feed_id: string; readonly digest: string; readonly ids: number }> {
  const { feed_json } = await tx
    .selectFrom('own_revocation_feeds')
    .select('feed_json')
    .where('sequence', '=', sequence)
    .executeTakeFirstOrThrow()
  const { feed_id, revoked_attestation_ids } = readRevocationFeed(readJson(feed_json, FEED_LIMITS))
  return { feed_id, digest: sha256Hex(feed_json), ids: revoked_attestation_ids.length }
}

export async function purgeRemovedFeeds(database: Database, before: string, signal: AbortSignal): Promise<void> {
  await deleteInParts(database, 'removed_own_feeds', sql`issued_at < ${before}`, signal)
}

/** Exact up to the limit. */
export async function countPlainIds(db: Reader, bound: number): Promise<number> {
  const rows = db.selectFrom('own_feed_ids').select('part_key').where('pruned', '=', 0)
  return (await countUpTo(db, rows, bound)) ?? bound
}

/** Whether an id ended so long ago that the next version leaves it out. */
export async function hasPrunable(
  db: Reader,
  ends: { readonly known: string; readonly unknown: string },
): Promise<boolean> {
  const ended = (end_known: number, end: string) =>
    db
      .selectFrom('own_feed_ids')
      .select('part_key')
      .where('pruned', '=', 0)
      .where('end_known', '=', end_known)
      .where('ends_at', '<', end)
      .limit(1)
      .executeTakeFirst()
  return (await ended(1, ends.known)) !== undefined || (await ended(0, ends.unknown)) !== undefined
}

export function findPart(
  db: Reader,
  part: number,
): Promise<{ readonly digest: string; readonly part_json: string } | undefined> {
  return db.selectFrom('own_feed_parts').select(['digest', 'part_json']).where('part', '=', part).executeTakeFirst()
}

export function listPartDigests(db: Reader): Promise<readonly { readonly part: number; readonly digest: string }[]> {
  return db.selectFrom('own_feed_parts').select(['part', 'digest']).orderBy('part').execute()
}
