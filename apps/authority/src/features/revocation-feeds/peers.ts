import { setImmediate as nextTurn } from 'node:timers/promises'
import { DAY, instantOf, readInstant, writeSortable } from '@chancery/protocol'
import type { FeedIndex, Instant, RevocationFeed } from '@chancery/protocol'
import type { Reader, Transaction } from '../../database/database.ts'
import {
  countStoredIds,
  findFeedText,
  findLastImported,
  listStoredParts,
  replaceImportedText,
  setConfirmed,
} from './queries/imported.ts'
import type { Core, FeatureBase } from '../../core.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'
import type { PublishedDocuments } from '../../requests/published-documents.ts'
import type { RecognitionTreaties } from '../recognition-treaties/index.ts'

export interface RevocationFeedsParts
  extends FeatureBase, Pick<Core, 'purgeClock' | 'recordFaults' | 'rollback' | 'versions'> {
  readonly settings: Pick<AuthoritySettings, 'feedPruneMarginSeconds' | 'feedRefreshSeconds'>
  readonly publishedDocuments: PublishedDocuments
  readonly recognitionTreaties: RecognitionTreaties
}

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

const ROWS = 1000
/** As long as digests of the own feed and of lists. */
const STORED_FOR = 400n * DAY

/**
 * Removes sequence, digest and count of imported feeds whose text was removed before. A partner may sign a feed with
 * each pull. The newest two feeds of an issuer have their texts and stay, so a lower sequence is still refused.
 */
export async function removeOldImports(
  { database, purgeClock }: Pick<RevocationFeedsParts, 'database' | 'purgeClock'>,
  signal: AbortSignal,
): Promise<void> {
  const before = writeSortable(purgeClock.daily.now() - STORED_FOR)
  for (let removed = ROWS; removed === ROWS && !signal.aborted;)
    removed = await database.write(async ({ query }) => {
      const rows = await query
        .selectFrom('sovereign_revocation_feeds')
        .select(['issuer_sovereign_id', 'sequence'])
        .where('digest', 'is not', null)
        .where('imported_at', '<', before)
        .orderBy('imported_at')
        .limit(ROWS)
        .execute()
      for (const { issuer_sovereign_id, sequence } of rows)
        await query
          .deleteFrom('sovereign_revocation_feeds')
          .where('issuer_sovereign_id', '=', issuer_sovereign_id)
          .where('sequence', '=', sequence)
          .where('digest', 'is not', null)
          .execute()
      return rows.length
    })
}
