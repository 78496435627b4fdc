import { setImmediate as nextTurn } from 'node:timers/promises'
import { type FeedIndex, type JsonObject, MAX_FEED_IDS, asJson, writeJson } from '@chancery/protocol'
import type { Transaction } from '../../database/database.ts'
import { type RevocationFeedsParts, renewFeed } from './peers.ts'
import { type RevokedId, findLastImported, markComplete } from './queries/imported.ts'
import { concludeIndex, isJump, recordPart, storeFeedText, storeIds } from './store-imported.ts'

/** Asked inside each transaction. False when the pull that imports was ended by an operator or replaced by another. */
export type IsCurrent = (tx: Transaction) => Promise<boolean>

/** The import ended because its pull no longer counts. */
export class ImportStoppedError extends Error {
  override readonly name = 'ImportStoppedError'
}

/** A plain feed that was read and verified in another thread. */
export interface PartnerFeed {
  readonly feed_id: string
  readonly issuer_sovereign_id: string
  readonly sequence: number
  readonly issued_at: string
  /** How many different ids. */
  readonly ids: number
  /** Sorted ids with reasons, each slice as JSON. Null when all are known to be imported. */
  readonly slices: readonly string[] | null
  /** Null when this text is known to be imported. */
  readonly text: string | null
}

export interface PartnerPart {
  readonly part: number
  readonly ids: number
  readonly slices: readonly string[]
}

/** `complete`: nothing that the partner revoked is missing. */
export type PartnerImport = { readonly complete: boolean } | 'sequence_jump'

/**
 * Imports by standing order of an operator (protocol/partners 4). The caller has verified the signature under keys
 * that an operator pinned. Ids are added whatever the sequence is: a partner that counts again from the start, or
 * showed another content before, must not keep a revocation from being imported. The imported sequence never falls.
 */
export async function importPartnerFeed(
  parts: RevocationFeedsParts,
  feed: PartnerFeed,
  isCurrent: IsCurrent,
): Promise<PartnerImport> {
  const { issuer_sovereign_id: issuer, sequence, feed_id } = feed
  if (isJump(sequence, await findLastImported(parts.database.read, issuer))) return 'sequence_jump'
  const last = await storeSlices(parts, feed, feed.slices ?? [], feed_id, isCurrent)
  const complete = feed.ids < MAX_FEED_IDS
  return inImport(parts, isCurrent, async (tx) => {
    const before = await findLastImported(tx.query, issuer)
    if (isJump(sequence, before)) return 'sequence_jump'
    const added = await storeIds(tx, parts, { issuer, feed_id, sequence, ids: last })
    const isNewer = before === undefined || before.sequence < sequence
    if (isNewer && feed.text !== null)
      await storeFeedText(tx, parts, { issuer, sequence, feed_id, text: feed.text, ids: feed.ids, complete })
    else if (!isNewer) await renewFeed(tx, parts, { ...feed, isPlain: true })
    if (isNewer || added > 0) await audit(parts, tx, feed, { feed_id, revoked_count: feed.ids, complete })
    return { complete }
  })
}

/** Adds the ids of a second feed with the same sequence. */
export async function addPartnerIds(
  parts: RevocationFeedsParts,
  feed: PartnerFeed,
  isCurrent: IsCurrent,
): Promise<void> {
  const { issuer_sovereign_id: issuer, sequence, feed_id } = feed
  const ids = await storeSlices(parts, feed, feed.slices ?? [], feed_id, isCurrent)
  await inImport(parts, isCurrent, async (tx) => {
    const added = await storeIds(tx, parts, { issuer, feed_id, sequence, ids })
    if (added > 0) await audit(parts, tx, feed, { feed_id, revoked_count: feed.ids })
  })
}

export async function importPartnerPart(
  parts: RevocationFeedsParts,
  index: FeedIndex,
  given: PartnerPart,
  isCurrent: IsCurrent,
): Promise<'sequence_jump' | undefined> {
  const { issuer_sovereign_id: issuer, sequence, index_id: feed_id } = index
  if (isJump(sequence, await findLastImported(parts.database.read, issuer))) return 'sequence_jump'
  const { part } = given
  const ids = await storeSlices(parts, index, given.slices, feed_id, isCurrent, { part })
  return inImport(parts, isCurrent, async (tx) => {
    const added = await storeIds(tx, parts, { issuer, feed_id, sequence, ids })
    await recordPart(tx, index, part)
    if (added > 0) await audit(parts, tx, index, { feed_id, revoked_count: given.ids, part, complete: false })
    return undefined
  })
}

/** Complete when all parts of the index are imported. */
export async function concludePartnerIndex(
  parts: RevocationFeedsParts,
  index: FeedIndex,
  isCurrent: IsCurrent,
): Promise<PartnerImport> {
  return inImport(parts, isCurrent, async (tx) => {
    const before = await findLastImported(tx.query, index.issuer_sovereign_id)
    const concluded = await concludeIndex(tx, parts, index, false)
    if (concluded === 'sequence_jump' || !concluded.complete) return concluded
    const text = writeJson(asJson(index))
    await renewFeed(tx, parts, { ...index, ids: index.total_ids, text, isPlain: false })
    const isNew =
      before === undefined ||
      before.sequence < index.sequence ||
      (before.sequence === index.sequence && before.complete === 0)
    if (isNew)
      await audit(parts, tx, index, { feed_id: index.index_id, revoked_count: index.total_ids, complete: true })
    return concluded
  })
}

/** An issuer without an index has no ids besides those of its plain feed. */
export async function completePartnerFeed(
  parts: RevocationFeedsParts,
  issuer: string,
  sequence: number,
  isCurrent: IsCurrent,
): Promise<void> {
  await inImport(parts, isCurrent, (tx) => markComplete(tx, issuer, sequence))
}

/**
 * Stores all slices but the last one, each in its own transaction: other imports wait for one slice only, and a crash
 * leaves more revoked, never less. Returns the ids of the last slice.
 */
async function storeSlices(
  parts: RevocationFeedsParts,
  signed: Pick<PartnerFeed, 'issuer_sovereign_id' | 'sequence'>,
  slices: readonly string[],
  feed_id: string,
  isCurrent: IsCurrent,
  more: JsonObject = {},
): Promise<readonly RevokedId[]> {
  const { issuer_sovereign_id: issuer, sequence } = signed
  for (const slice of slices.slice(0, -1)) {
    const ids = JSON.parse(slice) as readonly RevokedId[]
    await inImport(parts, isCurrent, async (tx) => {
      const added = await storeIds(tx, parts, { issuer, feed_id, sequence, ids })
      if (added > 0) await audit(parts, tx, signed, { feed_id, revoked_count: ids.length, ...more, complete: false })
    })
    await nextTurn()
  }
  return JSON.parse(slices.at(-1) ?? '[]') as readonly RevokedId[]
}

function inImport<Value>(
  parts: RevocationFeedsParts,
  isCurrent: IsCurrent,
  work: (tx: Transaction) => Promise<Value>,
): Promise<Value> {
  return parts.database.write(async (tx) => {
    await tx.lock('imports')
    if (!(await isCurrent(tx))) throw new ImportStoppedError('the pull no longer counts')
    return work(tx)
  })
}

async function audit(
  parts: RevocationFeedsParts,
  tx: Transaction,
  { issuer_sovereign_id, sequence }: Pick<PartnerFeed, 'issuer_sovereign_id' | 'sequence'>,
  more: JsonObject,
): Promise<void> {
  const details = { issuer_sovereign_id, sequence, trust_basis: 'partner_pinned_keys', partner: true, ...more }
  await parts.audit.record(tx, { type: 'sovereign_revocation_feed_imported', details })
}
