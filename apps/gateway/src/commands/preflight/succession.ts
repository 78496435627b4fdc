import {
  FormError,
  isJsonObject,
  readGenesisBlock,
  readKeyHistory,
  verifyGenesisBlock,
  verifyKeyHistory,
} from '@chancery/protocol'
import type { FormerKey, Instant, JsonObject, RevocationList } from '@chancery/protocol'
import { type Expected, type PreflightCheck, isAuthentic, isCurrent, readList } from './checks.ts'
import { type PublishedDocuments, fetchKeyList } from './documents.ts'

/** The key that must have signed the documents: the given one, or the one that the root key has named since. */
export interface CurrentKey {
  readonly key: string
  /** Former keys of the authority, where the root key confirms them. */
  readonly former: readonly FormerKey[]
  readonly checks: readonly PreflightCheck[]
  /** Advice for the operator. */
  readonly note?: string
}

/**
 * Follows a key succession: the genesis block may name another key when the given root key signed the block and the key
 * history, and the history names the given key as a former one (decision 0006).
 */
export async function findCurrentKey(published: PublishedDocuments, expected: Expected): Promise<CurrentKey> {
  const delegated = published.genesis?.['network_authority'] ?? null
  const named = isJsonObject(delegated) ? delegated['public_key'] : undefined
  const followed = await follow(published, expected)
  const former = typeof followed === 'string' ? [] : followed
  if (typeof named !== 'string' || named === expected.authorityKey)
    return { key: expected.authorityKey, former, checks: [] }
  if (typeof followed === 'string') return refused(expected, followed)
  if (!former.some((each) => each.public_key === expected.authorityKey))
    return refused(expected, 'its key history does not name the given key: ask its operator for the reason out of band')
  return {
    key: named,
    former,
    checks: [{ check: 'key_succession', passed: true }],
    note: `The authority has a new key: ${named}. Its root key confirms the given key as a former one. Use the new key from now on.`,
  }
}

function refused({ authorityKey }: Expected, why: string): CurrentKey {
  const note = `The authority has another key than the given one, and the succession cannot be verified: ${why}.`
  return { key: authorityKey, former: [], checks: [{ check: 'key_succession', passed: false }], note }
}

/** Returns the former keys, or the reason why they cannot be used. */
async function follow(
  { genesis, history }: PublishedDocuments,
  { rootKey, network }: Expected,
): Promise<readonly FormerKey[] | string> {
  if (rootKey === undefined) return 'set --root-key, because only the root key can confirm another key'
  if (genesis === undefined) return 'it serves no genesis block'
  if (history === undefined) return 'it serves no key history (GET /key-history)'
  try {
    const block = readGenesisBlock(genesis)
    if (block.root_public_key !== rootKey || block.network_name !== network || !(await verifyGenesisBlock(block)).ok)
      return 'its genesis block does not match the given network and root key'
    const record = readKeyHistory(history)
    const verdict = await verifyKeyHistory(record, block)
    if (!verdict.ok) return `its key history does not belong to the genesis block (${verdict.reason})`
    return record.former_keys.filter((each) => each.public_key !== block.network_authority.public_key)
  } catch (error) {
    if (error instanceof FormError) return `its genesis block or key history is malformed (${error.message})`
    throw error
  }
}

export interface EntrySource {
  readonly origin: URL
  readonly allowHttp: boolean
  readonly now: Instant
  /** Received out of band: the gateway follows key successions by it. Undefined when it was not given. */
  readonly rootKey: string | undefined
}

/** Returns the member of `networks` in a policy for an authority that passed every check. */
export async function toNetworkEntry(
  list: RevocationList,
  current: CurrentKey,
  source: EntrySource,
): Promise<JsonObject> {
  const { origin, allowHttp, rootKey } = source
  return {
    authority_url: origin.origin,
    crl_url: `${origin.origin}/crl`,
    allow_http: allowHttp,
    ...(rootKey === undefined ? {} : { root_public_key: rootKey }),
    public_mesh: false,
    anchors: { [list.issuer]: current.key },
    minimum_crl_sequence: list.sequence,
    crl: { ...list },
    required_roles: [],
    ...(await formerIssuers(current, source)),
    ...(current.former.length === 0 ? {} : { former_keys: current.former }),
  }
}

/**
 * Returns the former keys whose certificates are in use. Without their lists a gateway refuses nodes that have not
 * renewed yet.
 */
async function formerIssuers({ former }: CurrentKey, { origin, allowHttp, now }: EntrySource): Promise<JsonObject> {
  const issuers: Record<string, JsonObject> = {}
  for (const key of former) {
    const list = readList(await fetchKeyList(origin, key.key_id, allowHttp))
    if (list?.issuer !== key.key_id || !(await isAuthentic(list, key.public_key)) || !isCurrent(list, now)) continue
    issuers[key.key_id] = {
      crl_url: `${origin.origin}/crl/keys/${encodeURIComponent(key.key_id)}`,
      allow_http: allowHttp,
      anchors: { [key.key_id]: key.public_key },
      minimum_crl_sequence: list.sequence,
      crl: { ...list },
    }
  }
  return Object.keys(issuers).length === 0 ? {} : { additional_issuers: issuers }
}
