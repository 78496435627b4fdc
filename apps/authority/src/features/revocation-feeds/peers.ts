import {
  asJson,
  instantOf,
  readInstant,
  readJson,
  readRevocationFeed,
  writeJson,
  writeSortable,
} from '@chancery/protocol'
import type { FeedIndex, Instant, RevocationFeed } from '@chancery/protocol'
import type { Reader, Transaction } from '../../database/database.ts'
import { findImportedText, findLastImported, listStoredParts, replaceImportedText } from './queries/imported.ts'
import { FEED_LIMITS } from './queries/own.ts'

/** The import state of a sovereign with a treaty in force. */
export interface PeerFeed {
  readonly sovereign: string
  /** When its feed was last imported in full, or found to be the stored one. Undefined if never. */
  readonly seenAt: Instant | undefined
}

/** One for each currently recognised sovereign. Others are not accepted anyway. */
export async function listPeerFeeds(db: Reader, now: Instant): Promise<readonly PeerFeed[]> {
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

async function readSeen(db: Reader): Promise<ReadonlyMap<string, Instant>> {
  const rows = await db
    .selectFrom('sovereign_revocation_feeds as f')
    .leftJoin('imported_issuers as i', 'i.issuer_sovereign_id', 'f.issuer_sovereign_id')
    .select((eb) => [
      'f.issuer_sovereign_id as sovereign',
      eb.fn.max('f.imported_at').as('imported_at'),
      eb.fn.max('i.confirmed_at').as('confirmed_at'),
    ])
    // A plain feed that could not contain all ids states nothing about the others.
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
 * Records that the feed of a sovereign equals the stored one, so it revoked nothing since. Some sovereigns sign their
 * feed again on every read, so the ids are compared and not the text. The signature was verified before. Returns
 * whether they are equal.
 */
export async function confirmFeed(tx: Transaction, given: RevocationFeed | FeedIndex, now: Instant): Promise<boolean> {
  const issuer = given.issuer_sovereign_id
  // A saved copy of an earlier feed states nothing about later revocations.
  const last = await findLastImported(tx.query, issuer)
  if (last?.sequence !== given.sequence) return false
  const stored = await tx.query
    .selectFrom('sovereign_revocation_feeds')
    .select(['feed_json', 'complete'])
    .where('issuer_sovereign_id', '=', issuer)
    .where('sequence', '=', given.sequence)
    .where('complete', '=', 1)
    .where('digest', 'is', null)
    .executeTakeFirst()
  const isSame =
    stored !== undefined &&
    ('feed_id' in given ? isSameFeed(given, stored.feed_json) : await areAllStored(tx.query, given))
  if (!isSame) return false
  await tx.query
    .updateTable('imported_issuers')
    .set({ confirmed_at: writeSortable(now) })
    .where('issuer_sovereign_id', '=', issuer)
    .execute()
  return true
}

/**
 * A feed of the stored sequence with exactly its ids and a newer date: nothing is imported, and the stored feed is as
 * recent as this date (protocol/between 6.6).
 */
export async function renewFeed(tx: Transaction, given: RevocationFeed | FeedIndex, now: Instant): Promise<void> {
  const { issuer_sovereign_id: issuer, sequence } = given
  if (!(await confirmFeed(tx, given, now))) return
  const text = await findImportedText(tx.query, issuer, sequence)
  if (text === undefined) return
  const stored = readJson(text, FEED_LIMITS) as { feed_id?: string; issued_at: string }
  if (instantOf(given.issued_at) <= instantOf(stored.issued_at)) return
  if ('feed_id' in given) {
    // The date of ids that came in parts is that of their index.
    if (stored.feed_id === undefined) return
    const ids = new Set(readRevocationFeed(stored).revoked_attestation_ids)
    if (new Set(given.revoked_attestation_ids).size !== ids.size) return
  }
  await replaceImportedText(tx, issuer, sequence, writeJson(asJson(given)))
}

function isSameFeed(given: RevocationFeed, text: string): boolean {
  const record = readJson(text, FEED_LIMITS) as { feed_id?: string }
  // The stored feed came in parts. A plain feed of the same sequence cannot contain more.
  if (record.feed_id === undefined) return true
  const stored = new Set(readRevocationFeed(record).revoked_attestation_ids)
  return given.revoked_attestation_ids.every((id) => stored.has(id))
}

async function areAllStored(tx: Reader, index: FeedIndex): Promise<boolean> {
  const stored = await listStoredParts(tx, index.issuer_sovereign_id, index.part_bits)
  return index.parts.every(({ part, digest }) => stored.get(part) === digest)
}
