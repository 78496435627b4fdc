import { setImmediate as nextTurn } from 'node:timers/promises'
import { type ImportedRevocation, sha256Hex } from '@chancery/protocol'
import { sql } from 'kysely'
import type { Database, Reader, Transaction } from '../../../database/database.ts'
import { countOf } from '../../../database/large-tables.ts'

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

/** The same content, signed again. */
export async function replaceImportedText(
  tx: Transaction,
  issuer: string,
  sequence: number,
  text: { readonly feed_json: string; readonly revoked_count?: number },
): Promise<void> {
  await tx.query
    .updateTable('sovereign_revocation_feeds')
    .set(text)
    .where('issuer_sovereign_id', '=', issuer)
    .where('sequence', '=', sequence)
    .execute()
}

/** Records when the feed of an issuer was last found to be the stored one. */
export async function setConfirmed(tx: Transaction, issuer: string, confirmed_at: string): Promise<void> {
  await tx.query
    .updateTable('imported_issuers')
    .set({ confirmed_at })
    .where('issuer_sovereign_id', '=', issuer)
    .execute()
}

/** An id, and the reason of its revocation. */
export type RevokedId = readonly [attestation_id: string, reason: string | null]

const STORED_IMPORTS = 2

/** Stores the texts of the newest two feeds of an issuer, and digests of older ones. */
export async function dropOldTexts(tx: Transaction, { engine }: FeedDatabase, issuer: string): Promise<void> {
  const rows = await tx.query
    .selectFrom('sovereign_revocation_feeds')
    .select('sequence')
    .where('issuer_sovereign_id', '=', issuer)
    .where('digest', 'is', null)
    .orderBy('sequence', 'desc')
    .offset(STORED_IMPORTS)
    .limit(4)
    .execute()
  for (const { sequence } of rows) {
    const digest =
      engine === 'postgres'
        ? sql<string>`encode(sha256(convert_to(feed_json, 'UTF8')), 'hex')`
        : await digestOfText(tx.query, issuer, sequence)
    await tx.query
      .updateTable('sovereign_revocation_feeds')
      .set({ digest, feed_json: '' })
      .where('issuer_sovereign_id', '=', issuer)
      .where('sequence', '=', sequence)
      .execute()
    await nextTurn()
  }
}

/** SQLite works on the event loop, so other requests are served between the steps for a long text. */
async function digestOfText(tx: Reader, issuer: string, sequence: number): Promise<string> {
  const { feed_json } = await tx
    .selectFrom('sovereign_revocation_feeds')
    .select('feed_json')
    .where('issuer_sovereign_id', '=', issuer)
    .where('sequence', '=', sequence)
    .executeTakeFirstOrThrow()
  await nextTurn()
  const digest = sha256Hex(feed_json)
  await nextTurn()
  return digest
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

/** Adds to the number of ids of an issuer. */
export async function addImportedIds(tx: Transaction, issuer_sovereign_id: string, added: number): Promise<void> {
  await tx.query
    .insertInto('imported_issuers')
    .values({ issuer_sovereign_id, ids: added, confirmed_at: null })
    .onConflict((conflict) =>
      conflict.column('issuer_sovereign_id').doUpdateSet((eb) => ({ ids: eb('imported_issuers.ids', '+', added) })),
    )
    .execute()
}

/** Number of ids of one issuer, and of all. */
export async function countImportedIds(
  tx: Reader,
  issuer: string,
): Promise<{ readonly issuer: number; readonly all: number }> {
  const row = await tx
    .selectFrom('imported_issuers')
    .select((eb) => [
      eb.fn
        .sum<number>(eb.case().when('issuer_sovereign_id', '=', issuer).then(eb.ref('ids')).else(0).end())
        .as('issuer'),
      eb.fn.sum<number>('ids').as('all'),
    ])
    .executeTakeFirst()
  return { issuer: Number(row?.issuer ?? 0), all: Number(row?.all ?? 0) }
}

/** How many of these ids of an issuer are imported. */
export function countStoredIds(tx: Reader, issuer: string, ids: readonly string[]): Promise<number> {
  return countOf(
    tx
      .selectFrom('imported_sovereign_revocations')
      .where('issuer_sovereign_id', '=', issuer)
      .where('attestation_id', 'in', ids),
  )
}

/**
 * Adds ids with their reasons. An existing id stays as first imported, and none is ever removed. Returns the number of
 * new ids. One parameter for all: the server plans a short statement, whatever number of ids it gets.
 */
export async function insertRevocations(
  tx: Transaction,
  { engine }: FeedDatabase,
  given: Omit<ImportedRevocation, 'attestation_id' | 'reason'>,
  ids: readonly RevokedId[],
): Promise<number> {
  const text = JSON.stringify(ids)
  const rows =
    engine === 'postgres'
      ? sql`(select value ->> 0 as id, value ->> 1 as reason from json_array_elements(${text}::json)) as r`
      : sql`(select value ->> 0 as id, value ->> 1 as reason from json_each(${text})) as r`
  const done = await sql`insert into imported_sovereign_revocations
    (issuer_sovereign_id, attestation_id, feed_id, sequence, reason, imported_at)
    select cast(${given.issuer_sovereign_id} as text), r.id, cast(${given.feed_id} as text),
      cast(${given.sequence} as bigint), r.reason, cast(${given.imported_at} as text)
    from ${rows} where true on conflict do nothing`.execute(tx.query)
  return Number(done.numAffectedRows ?? 0n)
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

/** Facts of an imported feed whose text is still stored, without reading the text here. `isPlain`: not an index. */
export async function findFeedText(
  { engine, read }: FeedDatabase,
  issuer: string,
  sequence: number,
  db: Reader = read,
): Promise<
  { readonly issued_at: string | null; readonly isPlain: boolean; readonly revoked_count: number } | undefined
> {
  const member = (name: string) =>
    engine === 'sqlite'
      ? sql<string | null>`json_extract(feed_json, ${`$.${name}`})`
      : sql<string | null>`feed_json::json ->> ${name}`
  const row = await db
    .selectFrom('sovereign_revocation_feeds')
    .select([member('issued_at').as('issued_at'), member('feed_id').as('signed_id'), 'revoked_count'])
    .where('issuer_sovereign_id', '=', issuer)
    .where('sequence', '=', sequence)
    .where('digest', 'is', null)
    .executeTakeFirst()
  if (row === undefined) return undefined
  return { issued_at: row.issued_at, isPlain: row.signed_id !== null, revoked_count: row.revoked_count }
}
