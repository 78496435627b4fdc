// oxlint-disable max-lines -- all statements of own and imported feeds
import { readJson, readRevocationFeed, sha256Hex } from '@chancery/protocol'
import type { ImportedRevocation } from '@chancery/protocol'
import { sql } from 'kysely'
import type { Database, Reader, Transaction } from '../../database/database.ts'
import { countUpTo } from '../../database/large-table.ts'
import { assertStored } from '../../database/assert-stored.ts'
import type { ReasonedId } from './feed-text.ts'

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

export async function purgeRemovedFeeds(database: Database, before: string): Promise<void> {
  await database.write(({ query }) => query.deleteFrom('removed_own_feeds').where('issued_at', '<', before).execute())
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

/** The newest imported feed of an issuer. */
export function findLastImported(
  tx: Reader,
  issuer: string,
): Promise<{ readonly sequence: number; readonly complete: number } | undefined> {
  return tx
    .selectFrom('sovereign_revocation_feeds')
    .select(['sequence', 'complete'])
    .where('issuer_sovereign_id', '=', issuer)
    .orderBy('sequence', 'desc')
    .limit(1)
    .executeTakeFirst()
}

export async function insertImportedFeed(
  tx: Transaction,
  row: {
    issuer_sovereign_id: string
    sequence: number
    feed_id: string
    feed_json: string
    revoked_count: number
    imported_at: string
    complete: number
  },
): Promise<void> {
  await tx.query.insertInto('sovereign_revocation_feeds').values(row).execute()
}

export async function markComplete(tx: Transaction, issuer: string, sequence: number): Promise<void> {
  await tx.query
    .updateTable('sovereign_revocation_feeds')
    .set({ complete: 1 })
    .where('issuer_sovereign_id', '=', issuer)
    .where('sequence', '=', sequence)
    .execute()
}

/** The same ids, signed again. */
export async function replaceImportedText(
  tx: Transaction,
  issuer: string,
  sequence: number,
  feed_json: string,
): Promise<void> {
  await tx.query
    .updateTable('sovereign_revocation_feeds')
    .set({ feed_json })
    .where('issuer_sovereign_id', '=', issuer)
    .where('sequence', '=', sequence)
    .execute()
}

const STORED_IMPORTS = 2

/** Stores the texts of the newest two feeds of an issuer, and digests of older ones. */
export async function dropOldTexts(tx: Transaction, issuer: string): Promise<void> {
  const rows = await tx.query
    .selectFrom('sovereign_revocation_feeds')
    .select(['sequence', 'feed_json'])
    .where('issuer_sovereign_id', '=', issuer)
    .where('digest', 'is', null)
    .orderBy('sequence', 'desc')
    .offset(STORED_IMPORTS)
    .limit(4)
    .execute()
  for (const { sequence, feed_json } of rows)
    await tx.query
      .updateTable('sovereign_revocation_feeds')
      .set({ digest: sha256Hex(feed_json), feed_json: '' })
      .where('issuer_sovereign_id', '=', issuer)
      .where('sequence', '=', sequence)
      .execute()
}

/** Records that a part with this digest was imported. */
export async function cachePart(
  tx: Transaction,
  row: { issuer_sovereign_id: string; part_bits: number; part: number; digest: string },
): Promise<void> {
  await tx.query
    .insertInto('imported_feed_parts')
    .values(row)
    .onConflict((conflict) =>
      conflict.columns(['issuer_sovereign_id', 'part_bits', 'part']).doUpdateSet({ digest: row.digest }),
    )
    .execute()
}

/** Digests of the imported parts of an issuer, by number. */
export async function listStoredParts(
  tx: Reader,
  issuer: string,
  part_bits: number,
): Promise<ReadonlyMap<number, string>> {
  const rows = await tx
    .selectFrom('imported_feed_parts')
    .select(['part', 'digest'])
    .where('issuer_sovereign_id', '=', issuer)
    .where('part_bits', '=', part_bits)
    .execute()
  return new Map(rows.map(({ part, digest }) => [part, digest]))
}

/** Adds to the number of ids of an issuer and returns the sum. */
export async function addImportedIds(tx: Transaction, issuer_sovereign_id: string, added: number): Promise<number> {
  const row = await tx.query
    .insertInto('imported_issuers')
    .values({ issuer_sovereign_id, ids: added, confirmed_at: null })
    .onConflict((conflict) =>
      conflict.column('issuer_sovereign_id').doUpdateSet((eb) => ({ ids: eb('imported_issuers.ids', '+', added) })),
    )
    .returning('ids')
    .executeTakeFirst()
  return Number(row?.ids ?? 0)
}

export async function sumImportedIds(tx: Reader): Promise<number> {
  const row = await tx
    .selectFrom('imported_issuers')
    .select((eb) => eb.fn.sum<number>('ids').as('ids'))
    .executeTakeFirst()
  return Number(row?.ids ?? 0)
}

/** Adds ids. An existing id stays as first imported, and none is ever removed. Returns the number of new ids. */
export async function insertRevocations(tx: Transaction, rows: readonly ImportedRevocation[]): Promise<number> {
  let added = 0n
  for (let at = 0; at < rows.length; at += 1000) {
    const done = await tx.query
      .insertInto('imported_sovereign_revocations')
      .values(rows.slice(at, at + 1000))
      .onConflict((conflict) => conflict.doNothing())
      .executeTakeFirst()
    added += done.numInsertedOrUpdatedRows ?? 0n
  }
  return Number(added)
}

export async function isImportedRevocation(
  db: Reader,
  issuer_sovereign_id: string,
  attestation_id: string,
): Promise<boolean> {
  const row = await db
    .selectFrom('imported_sovereign_revocations')
    .select('sequence')
    .where('issuer_sovereign_id', '=', issuer_sovereign_id)
    .where('attestation_id', '=', attestation_id)
    .executeTakeFirst()
  return row !== undefined
}

export interface NewestFeed {
  readonly issuer_sovereign_id: string
  readonly sequence: number
  readonly feed_id: string
  readonly revoked_count: number
  readonly imported_at: string
  readonly complete: number
}

/** The newest imported feed of each issuer. */
export async function listNewestFeeds(db: Reader): Promise<readonly NewestFeed[]> {
  return db
    .selectFrom('sovereign_revocation_feeds as f')
    .innerJoin(
      db
        .selectFrom('sovereign_revocation_feeds')
        .select((eb) => ['issuer_sovereign_id', eb.fn.max('sequence').as('newest')])
        .groupBy('issuer_sovereign_id')
        .as('n'),
      (join) => join.onRef('n.issuer_sovereign_id', '=', 'f.issuer_sovereign_id').onRef('n.newest', '=', 'f.sequence'),
    )
    .select(['f.issuer_sovereign_id', 'f.sequence', 'f.feed_id', 'f.revoked_count', 'f.imported_at', 'f.complete'])
    .orderBy('f.issuer_sovereign_id')
    .execute()
}

export type FeedDatabase = Pick<Database, 'engine' | 'read'>

/** Returns issued_at of an imported feed whose text is still stored, without reading the text. */
export async function findFeedDate(
  { engine, read }: FeedDatabase,
  issuer: string,
  sequence: number,
): Promise<string | null> {
  const member =
    engine === 'sqlite'
      ? sql<string | null>`json_extract(feed_json, '$.issued_at')`
      : sql<string | null>`feed_json::json ->> 'issued_at'`
  const row = await read
    .selectFrom('sovereign_revocation_feeds')
    .select(member.as('issued_at'))
    .where('issuer_sovereign_id', '=', issuer)
    .where('sequence', '=', sequence)
    .where('digest', 'is', null)
    .executeTakeFirst()
  return row?.issued_at ?? null
}
