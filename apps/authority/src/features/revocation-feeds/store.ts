import type { ImportedRevocation } from '@chancery/protocol'
import type { Tx } from '../../store/database.ts'
import { assertKept } from '../../store/kept.ts'

export interface OwnFeed {
  readonly sequence: number
  readonly feed_json: string
  readonly issued_at: string
}

export function findOwnFeed(db: Tx): Promise<OwnFeed | undefined> {
  return db.selectFrom('own_revocation_feeds').selectAll().orderBy('sequence', 'desc').limit(1).executeTakeFirst()
}

/** One content per sequence: the number is the primary key. */
export async function insertOwnFeed(tx: Tx, feed: OwnFeed): Promise<void> {
  const kept = await tx.insertInto('own_revocation_feeds').values(feed).returning('feed_json').executeTakeFirst()
  assertKept(feed.feed_json, kept?.feed_json)
}

export async function lastImportedSequence(tx: Tx, issuer: string): Promise<number | undefined> {
  const row = await tx
    .selectFrom('sovereign_revocation_feeds')
    .select((eb) => eb.fn.max('sequence').as('sequence'))
    .where('issuer_sovereign_id', '=', issuer)
    .executeTakeFirst()
  return row === undefined || row.sequence === null ? undefined : Number(row.sequence)
}

export async function insertImportedFeed(
  tx: Tx,
  row: {
    issuer_sovereign_id: string
    sequence: number
    feed_id: string
    feed_json: string
    revoked_count: number
    imported_at: string
  },
): Promise<void> {
  await tx.insertInto('sovereign_revocation_feeds').values(row).execute()
}

/** Adds ids; one that is there stays as it was first imported, and none is ever taken out. */
export async function insertRevocations(tx: Tx, rows: readonly ImportedRevocation[]): Promise<void> {
  for (let at = 0; at < rows.length; at += 1000) {
    await tx
      .insertInto('imported_sovereign_revocations')
      .values(rows.slice(at, at + 1000))
      .onConflict((conflict) => conflict.doNothing())
      .execute()
  }
}

export async function isImportedRevocation(
  db: Tx,
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
}

/** The newest imported feed of each issuer. */
export async function listNewestFeeds(db: Tx): Promise<readonly NewestFeed[]> {
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
    .select(['f.issuer_sovereign_id', 'f.sequence', 'f.feed_id', 'f.revoked_count', 'f.imported_at'])
    .orderBy('f.issuer_sovereign_id')
    .execute()
}

/** When the issuer that was imported from least recently was last imported from. */
export async function findOldestImport(db: Tx): Promise<string | undefined> {
  const newest = db
    .selectFrom('sovereign_revocation_feeds')
    .select((eb) => eb.fn.max('imported_at').as('imported_at'))
    .groupBy('issuer_sovereign_id')
  const row = await db
    .selectFrom(newest.as('newest'))
    .select((eb) => eb.fn.min('imported_at').as('oldest'))
    .executeTakeFirst()
  return row?.oldest ?? undefined
}
