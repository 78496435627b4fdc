import {
  CLOCK_TOLERANCE,
  FormError,
  JsonError,
  MAX_READ_FEED_IDS,
  asJson,
  canonicalBytes,
  digestOf,
  genesisDigest,
  instantOf,
  isJsonObject,
  isPartOf,
  joinBytes,
  readFeedIndex,
  readFeedPart,
  readGenesisBlock,
  readInstant,
  readJsonBytes,
  readKeyHistory,
  readRecognitionTreaty,
  readRevocationFeed,
  readRevocationList,
  verifyAny,
  verifyGenesisBlock,
  verifyKeyHistory,
  verifyList,
  verifyRevocationFeed,
  withSortedIds,
  writeJson,
  writeSortable,
} from '@chancery/protocol'
import type {
  FeedIndex,
  FeedPart,
  FormerKey,
  GenesisBlock,
  Instant,
  JsonObject,
  JsonValue,
  RecognitionTreaty,
  RevocationFeed,
} from '@chancery/protocol'
import { keysAt } from './pin.ts'
import type { AcceptedKeys, Pin } from './pin.ts'
import type { StoredCrl, StoredFeed, StoredGenesis } from './stored-facts.ts'
import { StepFailure } from './read-document.ts'
import type { Failure } from './read-document.ts'

/** Large lists of a partner have up to 200,000 ids, and up to 16 MiB. */
const LIST_LIMITS = { maxDepth: 64, maxValues: 2_000_000, maxNames: 200_000 }

/** Texts up to this size are stored for a later comparison. */
const MAX_STORED_CHARACTERS = 1_048_576

type Blocks = readonly Uint8Array<ArrayBuffer>[]

/** What every check needs to know of the partner. */
export interface Signer {
  readonly sovereign_id: string
  readonly keys: AcceptedKeys
}

export type Checked<Value> = { readonly value: Value } | { readonly failure: Failure }

/** Runs a check. Unreadable or malformed text is one failure, whatever it contains. */
async function checked<Value>(check: () => Promise<Value>): Promise<Checked<Value>> {
  try {
    return { value: await check() }
  } catch (error) {
    if (error instanceof JsonError || error instanceof FormError) return { failure: 'malformed' }
    if (error instanceof StepFailure) return { failure: error.outcome }
    throw error
  }
}

function readBlocks(blocks: Blocks): JsonValue {
  return readJsonBytes(joinBytes(blocks), LIST_LIMITS)
}

function shortText(record: JsonValue): string | null {
  const text = writeJson(record)
  return text.length <= MAX_STORED_CHARACTERS ? text : null
}

export interface CheckedGenesis {
  readonly block: GenesisBlock
  readonly facts: StoredGenesis
}

/** Step 1 of a pull, without the comparison with the stored block. `sovereign_id` undefined: any but our own. */
export function checkGenesis(task: {
  readonly blocks: Blocks
  readonly pin: Pin
  readonly sovereign_id: string | undefined
}): Promise<Checked<CheckedGenesis>> {
  return checked(async () => {
    const block = readGenesisBlock(readBlocks(task.blocks))
    const { network_authority, root_public_key } = block
    const isPinned =
      task.pin.kind === 'root'
        ? root_public_key === task.pin.root_public_key
        : task.pin.authority_public_keys.includes(network_authority.public_key)
    if (!isPinned || !(await verifyGenesisBlock(block)).ok) throw new StepFailure('unauthentic')
    if (task.sovereign_id !== undefined && block.network_name !== task.sovereign_id)
      throw new StepFailure('mismatch')
    const facts = {
      digest: genesisDigest(block),
      root_public_key,
      ...network_authority,
      pinned: task.pin.kind === 'root',
    }
    return { block, facts }
  })
}

/** Step 2: the former keys that the root signed. */
export function checkHistory(task: {
  readonly blocks: Blocks
  readonly genesis: GenesisBlock
}): Promise<Checked<readonly FormerKey[]>> {
  return checked(async () => {
    const history = readKeyHistory(readBlocks(task.blocks))
    if (!(await verifyKeyHistory(history, task.genesis)).ok) throw new StepFailure('unauthentic')
    return history.former_keys
  })
}

/** Step 3: whether the unsigned document says the same as the genesis block. */
export function checkMetadata(task: {
  readonly blocks: Blocks
  readonly genesis: GenesisBlock
}): Promise<Checked<boolean>> {
  return checked(async () => {
    const found = readBlocks(task.blocks)
    if (!isJsonObject(found)) return false
    const authority = found['network_authority']
    const { network_name, root_public_key, network_authority } = task.genesis
    return (
      found['sovereign_id'] === network_name &&
      found['root_public_key'] === root_public_key &&
      isJsonObject(authority) &&
      authority['public_key'] === network_authority.public_key
    )
  })
}

export interface CheckedFeed {
  readonly feed: RevocationFeed
  readonly facts: Omit<StoredFeed, 'complete' | 'etag'> & { readonly ids_digest: string }
  readonly text: string | null
}

/** `importKeys`: keys of own treaties, which also count for a feed that is imported. */
export function checkFeed(
  task: Signer & { readonly blocks: Blocks; readonly importKeys: readonly string[] },
): Promise<Checked<CheckedFeed>> {
  return checked(async () => {
    const value = readBlocks(task.blocks)
    const listed = isJsonObject(value) ? value['revoked_attestation_ids'] : undefined
    if (Array.isArray(listed) && listed.length > MAX_READ_FEED_IDS) throw new StepFailure('too_large')
    const feed = readRevocationFeed(value)
    if (feed.issuer_sovereign_id !== task.sovereign_id) throw new StepFailure('mismatch')
    const keys = [...new Set([...keysAt(task.keys, instantOf(feed.issued_at)), ...task.importKeys])]
    if (!(await verifyRevocationFeed(feed, keys))) throw new StepFailure('unauthentic')
    const ids = withSortedIds(feed).revoked_attestation_ids
    const { signatures: _signatures, ...signed } = feed
    const facts = {
      sequence: feed.sequence,
      issued_at: feed.issued_at,
      ids: ids.length,
      digest: digestOf(asJson(signed)),
      ids_digest: digestOf(ids),
    }
    return { feed, facts, text: shortText(asJson(feed)) }
  })
}

export function checkIndex(
  task: Signer & { readonly blocks: Blocks; readonly importKeys: readonly string[] },
): Promise<Checked<FeedIndex>> {
  return checked(async () => {
    const index = readFeedIndex(readBlocks(task.blocks))
    if (index.issuer_sovereign_id !== task.sovereign_id) throw new StepFailure('mismatch')
    const keys = [...new Set([...keysAt(task.keys, instantOf(index.issued_at)), ...task.importKeys])]
    if (!(await verifyList(index, keys))) throw new StepFailure('unauthentic')
    return index
  })
}

export function checkPart(task: {
  readonly blocks: Blocks
  readonly index: FeedIndex
  readonly part: number
}): Promise<Checked<FeedPart>> {
  return checked(async () => {
    const part = readFeedPart(readBlocks(task.blocks))
    if (part.part !== task.part || !isPartOf(part, task.index)) throw new StepFailure('malformed')
    return part
  })
}

export interface CheckedCrl {
  readonly facts: Omit<StoredCrl, 'etag'> & { readonly entries_digest: string }
  readonly text: string | null
}

export function checkCrl(task: Signer & { readonly blocks: Blocks }): Promise<Checked<CheckedCrl>> {
  return checked(async () => {
    const list = readRevocationList(readBlocks(task.blocks))
    const { signatures, ...signed } = list
    const own = signatures.filter(({ key_id }) => key_id === list.issuer)
    const isOfIssuer = list.revoked_certificates.every(({ issuer }) => issuer === list.issuer)
    const keys = keysAt(task.keys, instantOf(list.issued_at))
    if (!isOfIssuer || !(await verifyAny(canonicalBytes(asJson(signed)), own, keys)))
      throw new StepFailure('unauthentic')
    const facts = {
      sequence: list.sequence,
      issued_at: list.issued_at,
      next_update: list.next_update,
      entries: list.revoked_certificates.length,
      digest: digestOf(asJson(signed)),
      entries_digest: digestOf(asJson(list.revoked_certificates)),
    }
    return { facts, text: shortText(asJson(list)) }
  })
}

/** A treaty that a partner lists, as it is stored. */
export interface OfferedTreaty {
  readonly treaty_id: string
  readonly subject_sovereign_id: string
  readonly treaty_json: string
  readonly digest: string
  readonly valid_from: string
  readonly expires_at: string
  readonly starts_at: string
  readonly ends_at: string
}

export interface CheckedTreaties {
  readonly treaties: readonly OfferedTreaty[]
  readonly refused: number
  readonly next: string | undefined
}

export function checkTreaties(
  task: Signer & { readonly blocks: Blocks; readonly now: Instant },
): Promise<Checked<CheckedTreaties>> {
  return checked(async () => {
    const page = readBlocks(task.blocks)
    const rows = isJsonObject(page) ? page['recognition_treaties'] : undefined
    if (!isJsonObject(page) || !Array.isArray(rows)) throw new StepFailure('malformed')
    const treaties: OfferedTreaty[] = []
    for (const row of rows) {
      const found = await checkRow(task, row)
      if (found !== undefined) treaties.push(found)
    }
    const next = page['next_cursor']
    return {
      treaties,
      refused: rows.length - treaties.length,
      next: typeof next === 'string' && next.length <= 1024 ? next : undefined,
    }
  })
}

async function checkRow(task: Signer & { readonly now: Instant }, row: JsonValue): Promise<OfferedTreaty | undefined> {
  if (!isJsonObject(row) || row['status'] !== 'active') return undefined
  const treaty = readOrNone(row)
  if (treaty === undefined || treaty.issuer_sovereign_id !== task.sovereign_id || treaty.status !== 'active')
    return undefined
  const [starts, ends] = [instantOf(treaty.valid_from), instantOf(treaty.expires_at)]
  if (starts - CLOCK_TOLERANCE > task.now || task.now >= ends) return undefined
  const keys = keysAt(task.keys, readInstant(treaty.issued_at) ?? 0n)
  if (!(await verifyList(treaty, keys).catch(() => false))) return undefined
  const { signatures: _signatures, ...signed } = treaty
  return {
    treaty_id: treaty.treaty_id,
    subject_sovereign_id: treaty.subject_sovereign_id,
    treaty_json: writeJson(row['treaty'] ?? null),
    digest: digestOf(asJson(signed)),
    valid_from: treaty.valid_from,
    expires_at: treaty.expires_at,
    starts_at: writeSortable(starts),
    ends_at: writeSortable(ends),
  }
}

function readOrNone(row: JsonObject): RecognitionTreaty | undefined {
  try {
    return readRecognitionTreaty(row['treaty'] ?? null)
  } catch (error) {
    if (error instanceof FormError) return undefined
    throw error
  }
}

export const CHECKS = {
  genesis: checkGenesis,
  history: checkHistory,
  metadata: checkMetadata,
  feed: checkFeed,
  index: checkIndex,
  part: checkPart,
  crl: checkCrl,
  treaties: checkTreaties,
} as const
