import { ANNOUNCEMENT_SURFACE } from '@chancery/contract'
import {
  FormError,
  JsonError,
  SECOND,
  asJson,
  canonicalBytes,
  digestOf,
  genesisDigest,
  instantOf,
  isJsonObject,
  joinBytes,
  readGenesisBlock,
  readJsonBytes,
  readKeyHistory,
  readRevocationList,
  verifyAny,
  verifyGenesisBlock,
  verifyKeyHistory,
  writeJson,
} from '@chancery/protocol'
import type { FormerKey, GenesisBlock, Instant, JsonValue } from '@chancery/protocol'
import { DocumentHead } from './document-head.ts'
import { StepFailureError, keysAt } from './stored-facts.ts'
import type { AcceptedKeys, AnnouncedKey, Failure, Pin, StoredCrl, StoredGenesis } from './stored-facts.ts'

/** Large lists of a partner have up to 16 MiB. */
const LIST_LIMITS = { maxDepth: 64, maxValues: 2_000_000, maxNames: 200_000 }

/** Texts up to this size are stored for a later comparison. */
export const MAX_STORED_CHARACTERS = 1_048_576
/** A key may begin this much ahead of our clock. */
const CLOCK_AHEAD: Instant = 300n * SECOND

export type Blocks = readonly Uint8Array<ArrayBuffer>[]

/** What every check needs to know of the partner. */
export interface Signer {
  readonly sovereign_id: string
  readonly keys: AcceptedKeys
}

export type Checked<Value> = { readonly value: Value } | { readonly failure: Failure }

/** Runs a check. Unreadable or malformed text is one failure, whatever it contains. */
export async function checked<Value>(check: () => Promise<Value>): Promise<Checked<Value>> {
  try {
    return { value: await check() }
  } catch (error) {
    if (error instanceof JsonError || error instanceof FormError) return { failure: 'malformed' }
    if (error instanceof StepFailureError) return { failure: error.outcome }
    throw error
  }
}

export function readBlocks(blocks: Blocks): JsonValue {
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
  readonly now: Instant
}): Promise<Checked<CheckedGenesis>> {
  return checked(async () => {
    const block = readGenesisBlock(readBlocks(task.blocks))
    const { network_authority, root_public_key } = block
    const isPinned =
      task.pin.kind === 'root'
        ? root_public_key === task.pin.root_public_key
        : task.pin.authority_public_keys.includes(network_authority.public_key)
    const isAhead = instantOf(network_authority.valid_from) - task.now > CLOCK_AHEAD
    if (!isPinned || isAhead || !(await verifyGenesisBlock(block)).ok) throw new StepFailureError('unauthentic')
    if (task.sovereign_id !== undefined && block.network_name !== task.sovereign_id)
      throw new StepFailureError('mismatch')
    const facts = {
      digest: genesisDigest(block),
      root_public_key,
      ...network_authority,
      pinned: task.pin.kind === 'root',
    }
    return { block, facts }
  })
}

export interface CheckedHistory {
  readonly former_keys: readonly FormerKey[]
  /** Signed by the root, and consistent with the genesis block. */
  readonly isAuthentic: boolean
  readonly digest: string | null
  readonly text: string | null
}

/** Step 2: the former keys that the root signed. */
export function checkHistory(task: {
  readonly blocks: Blocks
  readonly genesis: GenesisBlock
}): Promise<Checked<CheckedHistory>> {
  return checked(async () => {
    const history = readKeyHistory(readBlocks(task.blocks))
    const { signatures: _signatures, ...signed } = history
    return {
      former_keys: history.former_keys,
      isAuthentic: (await verifyKeyHistory(history, task.genesis)).ok,
      digest: digestOf(asJson(signed)),
      text: shortText(asJson(history)),
    }
  })
}

export interface CheckedMetadata {
  /** Whether the unsigned document says the same as the genesis block. */
  readonly isSame: boolean
  readonly announcesKey: boolean
}

/** Step 3. Both are hints: the document is not signed. */
export function checkMetadata(task: {
  readonly blocks: Blocks
  readonly genesis: GenesisBlock
}): Promise<Checked<CheckedMetadata>> {
  return checked(async () => {
    const found = readBlocks(task.blocks)
    if (!isJsonObject(found)) return { isSame: false, announcesKey: false }
    const [authority, surfaces] = [found['network_authority'], found['supported_surfaces']]
    const { network_name, root_public_key, network_authority } = task.genesis
    const isSame =
      found['sovereign_id'] === network_name &&
      found['root_public_key'] === root_public_key &&
      isJsonObject(authority) &&
      authority['public_key'] === network_authority.public_key
    const announcesKey = isJsonObject(surfaces) && Object.hasOwn(surfaces, ANNOUNCEMENT_SURFACE)
    return { isSame, announcesKey }
  })
}

const MAX_BLOCK_BYTES = 262_144

/** Step 2: the block that the partner announces. It may come with a long list, which is not read. */
export function checkSuccession(task: {
  readonly blocks: Blocks
  readonly genesis: GenesisBlock
}): Promise<Checked<AnnouncedKey>> {
  return checked(async () => {
    const offered = new DocumentHead(joinBytes(task.blocks)).read('genesis', MAX_BLOCK_BYTES)
    const block = readGenesisBlock(offered ?? null)
    const { network_name, root_public_key, network_authority: current } = task.genesis
    if (block.network_name !== network_name || block.root_public_key !== root_public_key)
      throw new StepFailureError('mismatch')
    if (!(await verifyGenesisBlock(block)).ok) throw new StepFailureError('unauthentic')
    const { public_key, valid_from } = block.network_authority
    const isNext = public_key !== current.public_key && instantOf(valid_from) >= instantOf(current.valid_from)
    return isNext ? { public_key, valid_from } : null
  })
}

export interface CheckedCrl {
  readonly facts: Omit<StoredCrl, 'etag'> & { readonly entries_digest: string }
  readonly text: string | null
}

export function checkCrl(task: Signer & { readonly blocks: Blocks }): Promise<Checked<CheckedCrl>> {
  return checked(async () => {
    const bytes = joinBytes(task.blocks)
    new DocumentHead(bytes).requireSigned()
    const list = readRevocationList(readJsonBytes(bytes, LIST_LIMITS))
    const { signatures, ...signed } = list
    const own = signatures.filter(({ key_id }) => key_id === list.issuer)
    const isOfIssuer = list.revoked_certificates.every(({ issuer }) => issuer === list.issuer)
    const keys = keysAt(task.keys, instantOf(list.issued_at))
    if (!isOfIssuer || !(await verifyAny(canonicalBytes(asJson(signed)), own, keys)))
      throw new StepFailureError('unauthentic')
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
