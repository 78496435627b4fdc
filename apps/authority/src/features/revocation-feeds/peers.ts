import { readInstant, readJson, readRevocationFeed, writeSortable } from '@chancery/protocol'
import type { FeedIndex, Instant, RevocationFeed } from '@chancery/protocol'
import type { Tx } from '../../database/database.ts'
import { FEED_LIMITS, findLastImported, listStoredParts } from './queries.ts'

/** How well a sovereign with a treaty in force is known. */
export interface PeerFeed {
  readonly sovereign: string
  /** When its feed was last imported in full, or found to be the one that is held; undefined when it never was. */
  readonly seenAt: Instant | undefined
}

/** One for each sovereign that is recognised now: of one that is not, nothing is accepted anyway. */
export async function listPeerFeeds(db: Tx, now: Instant): Promise<readonly PeerFeed[]> {
  const treaties = await db
    .selectFrom('recognition_treaties')
    .select(['subject_sovereign_id as sovereign', 'valid_from'])
    .where('status', '=', 'active')
    .where('expires_at', '>', writeSortable(now))
    .orderBy('subject_sovereign_id')
    .execute()
  const inForce = treaties.filter(({ valid_from }) => (readInstant(valid_from) ?? 0n) <= now)
  const seen = await readSeen(db)
  return [...new Set(inForce.map(({ sovereign }) => sovereign))].map((sovereign) => ({
    sovereign,
    seenAt: seen.get(sovereign),
  }))
}

async function readSeen(db: Tx): Promise<ReadonlyMap<string, Instant>> {
  const rows = await db
    .selectFrom('sovereign_revocation_feeds as f')
    .leftJoin('imported_issuers as i', 'i.issuer_sovereign_id', 'f.issuer_sovereign_id')
    .select((eb) => [
      'f.issuer_sovereign_id as sovereign',
      eb.fn.max('f.imported_at').as('imported_at'),
      eb.fn.max('i.confirmed_at').as('confirmed_at'),
    ])
    // A plain feed with no room for all ids says nothing of those it leaves out.
    .where('f.complete', '=', 1)
    .groupBy('f.issuer_sovereign_id')
    .execute()
  return new Map(
    rows.map(({ sovereign, imported_at, confirmed_at }) => {
      const imported = readInstant(imported_at) ?? 0n
      const confirmed = readInstant(confirmed_at ?? '') ?? 0n
      return [sovereign, imported > confirmed ? imported : confirmed]
    }),
  )
}

/**
 * Notes that the feed of a sovereign is the one that is held: it withdrew nothing since. Some sign their feed anew on
 * every read, so the ids decide and not the text. The signature was verified before. Returns whether it is so.
 */
export async function confirmFeed(tx: Tx, given: RevocationFeed | FeedIndex, now: Instant): Promise<boolean> {
  const issuer = given.issuer_sovereign_id
  // A kept copy of an earlier feed says nothing of what was withdrawn since.
  const last = await findLastImported(tx, issuer)
  if (last?.sequence !== given.sequence) return false
  const held = await tx
    .selectFrom('sovereign_revocation_feeds')
    .select(['feed_json', 'complete'])
    .where('issuer_sovereign_id', '=', issuer)
    .where('sequence', '=', given.sequence)
    .where('complete', '=', 1)
    .where('digest', 'is', null)
    .executeTakeFirst()
  const isSame =
    held !== undefined && ('feed_id' in given ? isSameFeed(given, held.feed_json) : await areAllStored(tx, given))
  if (!isSame) return false
  await tx
    .updateTable('imported_issuers')
    .set({ confirmed_at: writeSortable(now) })
    .where('issuer_sovereign_id', '=', issuer)
    .execute()
  return true
}

function isSameFeed(given: RevocationFeed, text: string): boolean {
  const record = readJson(text, FEED_LIMITS) as { feed_id?: string }
  // What is held came in parts: a plain feed of the same number cannot say more.
  if (record.feed_id === undefined) return true
  const held = new Set(readRevocationFeed(record).revoked_attestation_ids)
  return given.revoked_attestation_ids.every((id) => held.has(id))
}

async function areAllStored(tx: Tx, index: FeedIndex): Promise<boolean> {
  const held = await listStoredParts(tx, index.issuer_sovereign_id, index.part_bits)
  return index.parts.every(({ part, digest }) => held.get(part) === digest)
}
