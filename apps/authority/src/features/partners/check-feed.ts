import {
  MAX_READ_FEED_IDS,
  asJson,
  digestOf,
  instantOf,
  isPartOf,
  joinBytes,
  readFeedIndex,
  readFeedPart,
  readJsonBytes,
  readRevocationFeed,
  verifyList,
  verifyRevocationFeed,
  withSortedIds,
  writeJson,
} from '@chancery/protocol'
import type { FeedIndex, RevocationFeed } from '@chancery/protocol'
import type { PartnerFeed, PartnerPart } from '../revocation-feeds/index.ts'
import {
  MAX_STORED_CHARACTERS,
  checkCrl,
  checkGenesis,
  checkHistory,
  checkMetadata,
  checkSuccession,
  checked,
  readBlocks,
} from './check-material.ts'
import type { Blocks, Checked, Signer } from './check-material.ts'
import { DocumentHead } from './document-head.ts'
import { StepFailureError, type StoredFeed, keysAt } from './stored-facts.ts'
import { checkTreaties } from './check-treaties.ts'

/** As many ids and reasons as a feed may have, and the members of its head. */
const FEED_LIMITS = { maxDepth: 8, maxValues: 2 * MAX_READ_FEED_IDS + 100, maxNames: MAX_READ_FEED_IDS }

/** Ids that are imported in one transaction. */
const SLICE_IDS = 5000

/** What was imported before. */
export type KnownFeed = Pick<StoredFeed, 'sequence' | 'issued_at' | 'ids_digest'>

export interface FeedTask extends Signer {
  readonly blocks: Blocks
  /** Undefined when the feed is not imported. `keys`: those of own treaties, which also count then. */
  readonly importing: { readonly keys: readonly string[]; readonly known: KnownFeed | null } | undefined
}

export interface CheckedFeed {
  readonly facts: Omit<StoredFeed, 'complete' | 'etag' | 'imported'> & { readonly ids_digest: string }
  /** Up to 1 MiB. */
  readonly text: string | null
  readonly imported: PartnerFeed | null
}

/** Reads and verifies a feed. The event loop gets facts and texts only: it reads no long list. */
export function checkFeed(task: FeedTask): Promise<Checked<CheckedFeed>> {
  return checked(async () => {
    const bytes = joinBytes(task.blocks)
    checkHead(new DocumentHead(bytes), task.sovereign_id)
    const feed = readRevocationFeed(readJsonBytes(bytes, FEED_LIMITS))
    const keys = [...keysAt(task.keys, instantOf(feed.issued_at)), ...(task.importing?.keys ?? [])]
    if (!(await verifyRevocationFeed(feed, [...new Set(keys)]))) throw new StepFailureError('unauthentic')
    const ids = withSortedIds(feed).revoked_attestation_ids
    const { signatures: _signatures, ...signed } = feed
    const facts = {
      sequence: feed.sequence,
      issued_at: feed.issued_at,
      ids: ids.length,
      digest: digestOf(asJson(signed)),
      ids_digest: digestOf(ids),
    }
    const text = writeJson(asJson(feed))
    return {
      facts,
      text: text.length <= MAX_STORED_CHARACTERS ? text : null,
      imported: task.importing === undefined ? null : toImport(feed, facts, { ids, text, known: task.importing.known }),
    }
  })
}

/** Whatever else a feed contains is read only after this, so that an unsigned one costs little. */
function checkHead(head: DocumentHead, sovereign_id: string): void {
  if (['revoked_attestation_ids', 'revocation_reasons'].some((name) => head.count(name) > MAX_READ_FEED_IDS))
    throw new StepFailureError('too_large')
  const issuer = head.read('issuer_sovereign_id')
  if (typeof issuer !== 'string') throw new StepFailureError('malformed')
  if (issuer !== sovereign_id) throw new StepFailureError('mismatch')
  head.requireSigned()
}

/** Leaves out what was imported before. */
function toImport(
  feed: RevocationFeed,
  facts: CheckedFeed['facts'],
  given: { readonly ids: readonly string[]; readonly text: string; readonly known: KnownFeed | null },
): PartnerFeed {
  const { feed_id, issuer_sovereign_id, sequence, issued_at } = feed
  const { known } = given
  const hasIds = known?.ids_digest === facts.ids_digest
  const hasText = hasIds && known.sequence === sequence && known.issued_at === issued_at
  return {
    feed_id,
    issuer_sovereign_id,
    sequence,
    issued_at,
    ids: facts.ids,
    slices: hasIds ? null : toSlices(given.ids, feed.revocation_reasons),
    text: hasText ? null : given.text,
  }
}

/** JSON texts: moving them to the event loop costs less than moving every id. */
function toSlices(ids: readonly string[], reasons: { readonly [id: string]: string }): readonly string[] {
  const slices: string[] = []
  for (let at = 0; at < ids.length; at += SLICE_IDS) {
    const some = ids.slice(at, at + SLICE_IDS)
    slices.push(JSON.stringify(some.map((id) => [id, Object.hasOwn(reasons, id) ? reasons[id] : null])))
  }
  return slices
}

function checkIndex(
  task: Signer & { readonly blocks: Blocks; readonly importKeys: readonly string[] },
): Promise<Checked<FeedIndex>> {
  return checked(async () => {
    const index = readFeedIndex(readBlocks(task.blocks))
    if (index.issuer_sovereign_id !== task.sovereign_id) throw new StepFailureError('mismatch')
    const keys = [...new Set([...keysAt(task.keys, instantOf(index.issued_at)), ...task.importKeys])]
    if (!(await verifyList(index, keys))) throw new StepFailureError('unauthentic')
    return index
  })
}

function checkPart(task: {
  readonly blocks: Blocks
  readonly index: FeedIndex
  readonly part: number
}): Promise<Checked<PartnerPart>> {
  return checked(async () => {
    const part = readFeedPart(readBlocks(task.blocks))
    if (part.part !== task.part || !isPartOf(part, task.index)) throw new StepFailureError('malformed')
    const ids = part.revoked_attestation_ids
    return { part: part.part, ids: ids.length, slices: toSlices(ids, part.revocation_reasons) }
  })
}

/** Checks that run on the event loop or in another thread. */
export const CHECKS = {
  genesis: checkGenesis,
  history: checkHistory,
  metadata: checkMetadata,
  succession: checkSuccession,
  feed: checkFeed,
  index: checkIndex,
  part: checkPart,
  crl: checkCrl,
  treaties: checkTreaties,
} as const
