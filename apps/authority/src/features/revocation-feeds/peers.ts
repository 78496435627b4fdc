import { setImmediate as nextTurn } from 'node:timers/promises'
import { instantOf, readInstant, writeSortable } from '@chancery/protocol'
import type { FeedIndex, Instant, RevocationFeed } from '@chancery/protocol'
import type { Reader, Transaction } from '../../database/database.ts'
import type { RevocationFeedsParts } from './feed-parts.ts'
import {
  countStoredIds,
  findFeedText,
  findLastImported,
  listStoredParts,
  replaceImportedText,
  setConfirmed,
} from './queries/imported.ts'

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
  if (last?.sequence !== given.sequence || last.complete !== 1) return false
  const isSame =
    'feed_id' in given
      ? await areIdsStored(tx.query, issuer, given.revoked_attestation_ids)
      : await areAllStored(tx.query, given)
  if (isSame) await setConfirmed(tx, issuer, writeSortable(now))
  return isSame
}

/** What a partner shows of a sequence that is imported. All its ids are stored. */
export interface ShownAgain {
  readonly issuer_sovereign_id: string
  readonly sequence: number
  readonly issued_at: string
  readonly ids: number
  /** Null when this text is stored. */
  readonly text: string | null
  readonly isPlain: boolean
}

/**
 * A feed of the imported sequence with a newer date: the stored feed is as recent as this date (protocol/partners 4).
 * An older date never replaces a newer one.
 */
export async function renewFeed(tx: Transaction, parts: RevocationFeedsParts, given: ShownAgain): Promise<void> {
  const { issuer_sovereign_id: issuer, sequence, text } = given
  const last = await findLastImported(tx.query, issuer)
  if (last?.sequence !== sequence || last.complete !== 1) return
  await setConfirmed(tx, issuer, writeSortable(parts.clock.now()))
  if (text === null) return
  const stored = await findFeedText(parts.database, issuer, sequence, tx.query)
  if (stored === undefined || instantOf(given.issued_at) <= (readInstant(stored.issued_at ?? '') ?? 0n)) return
  // The date of ids that came in parts is that of their index. A shorter list is not the same content.
  if (given.isPlain && (!stored.isPlain || given.ids < stored.revoked_count)) return
  await replaceImportedText(tx, issuer, sequence, { feed_json: text, revoked_count: given.ids })
}

const IDS_AT_ONCE = 1000

async function areIdsStored(tx: Reader, issuer: string, given: readonly string[]): Promise<boolean> {
  const ids = [...new Set(given)]
  for (let at = 0; at < ids.length; at += IDS_AT_ONCE) {
    const some = ids.slice(at, at + IDS_AT_ONCE)
    if ((await countStoredIds(tx, issuer, some)) < some.length) return false
    await nextTurn()
  }
  return true
}

async function areAllStored(tx: Reader, index: FeedIndex): Promise<boolean> {
  const stored = await listStoredParts(tx, index.issuer_sovereign_id, index.part_bits)
  return index.parts.every(({ part, digest }) => stored.get(part) === digest)
}
