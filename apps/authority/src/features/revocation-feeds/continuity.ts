import {
  MAX_FEED_IDS,
  READ_LIMITS,
  readJson,
  readOrUndefined,
  readRevocationFeed,
  sha256Hex,
  verifyList,
} from '@chancery/protocol'
import type { RevocationFeed } from '@chancery/protocol'
import type { Core } from '../../core.ts'
import { clearFault } from '../../signing/record-faults.ts'
import type { OwnKeys } from '../../signing/own-keys.ts'
import type { Reader } from '../../database/database.ts'
import type { FeedPieces } from './feed-text.ts'
import { type ListedId, type OwnFeed, findOwnFeed, isWithdrawn, listNewestIds, listRevoked } from './queries/own.ts'

/** Maximum size of a feed. */
const LIMITS = { ...READ_LIMITS, maxValues: 2_000_000, maxNames: 200_000 }
/** Maximum number of missing ids that are named. */
const NAMED = 5

/** Refuses to publish unless everything in the last signed feed is still revoked. */
export async function requireRevoked(
  tx: Reader,
  { recordFaults }: Pick<Core, 'recordFaults'>,
  last: SignedFeed | undefined,
  newest: readonly ListedId[],
): Promise<void> {
  clearFault(recordFaults, 'feed', await findDropped(tx, last, newest))
}

/** Describes what the next feed would no longer name. Undefined when nothing. */
export async function findFeedFault(db: Reader, ownKeys: Pick<OwnKeys, 'all'>): Promise<string | undefined> {
  const last = await findOwnFeed(db)
  if (last === undefined) return undefined
  return findDropped(db, await readSignedFeed(ownKeys, last), await listNewestIds(db, MAX_FEED_IDS))
}

/** Returns the latest stored feed. Undefined when there is none, or it does not verify. */
export async function findSignedFeed(db: Reader, ownKeys: Pick<OwnKeys, 'all'>): Promise<RevocationFeed | undefined> {
  const last = await findOwnFeed(db)
  return last === undefined ? undefined : parseSigned(ownKeys, last)
}

/** What is needed of the last signed feed. */
export interface SignedFeed {
  readonly sequence: number
  readonly ids: readonly string[]
  /** Present when this process signed it. */
  readonly pieces?: FeedPieces
}

/** The last text that verified, by the keys that verified it. */
const verified = new WeakMap<object, { readonly digest: string; readonly feed: SignedFeed }>()

/** Returns the feed of a row if it verifies. An equal text is not parsed and verified twice. */
export async function readSignedFeed(
  ownKeys: Pick<OwnKeys, 'all'>,
  stored: Pick<OwnFeed, 'sequence' | 'feed_json'>,
): Promise<SignedFeed | undefined> {
  const digest = sha256Hex(stored.feed_json)
  const known = verified.get(ownKeys)
  if (known?.digest === digest) return known.feed.sequence === stored.sequence ? known.feed : undefined
  const read = await parseSigned(ownKeys, stored)
  if (read === undefined) return undefined
  const feed = { sequence: read.sequence, ids: read.revoked_attestation_ids }
  verified.set(ownKeys, { digest, feed })
  return feed
}

async function parseSigned(
  ownKeys: Pick<OwnKeys, 'all'>,
  { sequence, feed_json }: Pick<OwnFeed, 'sequence' | 'feed_json'>,
): Promise<RevocationFeed | undefined> {
  const feed = parse(feed_json)
  return feed?.sequence === sequence && (await verifyList(feed, ownKeys.all)) ? feed : undefined
}

/** The pieces of the current feed, when this process signed it. */
export function findPieces(
  ownKeys: Pick<OwnKeys, 'all'>,
  { digest, sequence }: Pick<OwnFeed, 'digest' | 'sequence'>,
): FeedPieces | undefined {
  const known = verified.get(ownKeys)
  return known?.digest === digest && known?.feed.sequence === sequence ? known.feed.pieces : undefined
}

/** Pieces are changed in place, so they belong to no stored feed until the next one is signed. */
export function dropCached(ownKeys: Pick<OwnKeys, 'all'>): void {
  verified.delete(ownKeys)
}

/** A feed that was just signed here. Its text need not be read again. */
export function cacheSigned(ownKeys: Pick<OwnKeys, 'all'>, digest: string, feed: SignedFeed): void {
  verified.set(ownKeys, { digest, feed })
}

async function findDropped(
  db: Reader,
  feed: SignedFeed | undefined,
  newest: readonly ListedId[],
): Promise<string | undefined> {
  if (feed === undefined) return 'the latest stored feed does not verify'
  const sure = new Set<string>()
  const strays: string[] = []
  for (const row of newest)
    if (isWithdrawn(row)) sure.add(row.attestation_id)
    else strays.push(row.attestation_id)
  const doubtful = feed.ids.filter((id) => !sure.has(id))
  const revoked = await listRevoked(db, doubtful)
  const missing = doubtful.filter((id) => !revoked.has(id))
  if (missing.length > 0)
    return `${missing.length} ids of the last signed feed are missing: ${missing.slice(0, NAMED).join(', ')}`
  // A row of the feed without a revoked attestation was written directly in the database.
  if (strays.length === 0) return undefined
  return `${strays.length} ids of the next feed are not revoked: ${strays.slice(0, NAMED).join(', ')}`
}

function parse(text: string): RevocationFeed | undefined {
  return readOrUndefined(() => readRevocationFeed(readJson(text, LIMITS)))
}
