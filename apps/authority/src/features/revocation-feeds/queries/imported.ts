import { sha256Hex } from '@chancery/protocol'
import type { ImportedRevocation } from '@chancery/protocol'
import { sql } from 'kysely'
import type { Database, Reader, Transaction } from '../../../database/database.ts'

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

/** Undefined for an old feed, whose text is no longer stored. */
export async function findImportedText(db: Reader, issuer: string, sequence: number): Promise<string | undefined> {
  const row = await db
    .selectFrom('sovereign_revocation_feeds')
    .select('feed_json')
    .where('issuer_sovereign_id', '=', issuer)
    .where('sequence', '=', sequence)
    .where('digest', 'is', null)
    .executeTakeFirst()
  return row?.feed_json
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
