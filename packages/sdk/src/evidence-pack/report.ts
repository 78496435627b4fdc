import { genesisDigest, instantOf, verifyKeyHistory } from '@chancery/protocol'
import type { AuthorityKeys, DecisionMeaning, FormerKey, GenesisBlock, KeyHistory, Verdict } from '@chancery/protocol'
import type { EvidencePack } from './format.ts'

/** What a check found: nothing wrong, a reason, or what is missing. */
export type Finding = Verdict<string> | { readonly missing: string }

export const PASSED: Finding = { ok: true }

export function failed(reason: string): Finding {
  return { ok: false, reason }
}

export function missing(what: string): Finding {
  return { missing: what }
}

/** The first finding that is not a pass; failures come before missing parts. */
export function worst(findings: readonly Finding[]): Finding {
  return findings.find((each) => 'ok' in each && !each.ok) ?? findings.find((each) => 'missing' in each) ?? PASSED
}

export type PackCheckName =
  | 'contents'
  | 'genesis'
  | 'root_key'
  | 'key_history'
  | 'decision'
  | 'context'
  | 'justification'
  | 'executions'
  | 'policies'
  | 'policy_texts'
  | 'treaty'
  | 'basis'
  | 'basis_signature'
  | 'inclusion'
  | 'witnesses'
  | 'anchor'

/** unchecked: what the check needs is not in the pack, and was not given. */
export interface PackCheck {
  readonly name: PackCheckName
  readonly status: 'passed' | 'failed' | 'unchecked'
  /** Why it did not pass; null when it did. */
  readonly detail: string | null
}

export interface EvidencePackReport {
  /** No check failed, and the root key is the trusted one. Without a trusted block or root key no pack is valid. */
  readonly valid: boolean
  readonly network: string
  /** Compare it with the one you were given. */
  readonly root_public_key: string
  readonly decision_id: string | null
  readonly result: DecisionMeaning | null
  /** Store sequences of the executions that are in the log, or signed by a trusted executor key. */
  readonly proven_executions: readonly number[]
  readonly checks: readonly PackCheck[]
  /** What a valid pack does not prove, as sentences. */
  readonly not_proven: readonly string[]
}

/** What the reader trusts. Everything else is in the pack. */
export interface PackTrust {
  /** The genesis block that the reader trusts. */
  readonly genesis?: GenesisBlock | undefined
  /** Former keys, signed by the root of the trusted block. A pack with an earlier block needs them. */
  readonly keyHistory?: KeyHistory | undefined
  /** Instead of the block: the root key that the reader trusts. It does not prove that the block is still in force. */
  readonly rootKey?: string | undefined
  /** The name of the network: one root key can sign the blocks of several. */
  readonly network?: string | undefined
  /** Public keys of executors by key id. With them, every execution must be signed by one of these. */
  readonly executorKeys?: ReadonlyMap<string, string> | undefined
  /** Verifier keys of witnesses. With them, the witnesses of the pack must be among these, and at least one cosigned. */
  readonly witnesses?: readonly string[] | undefined
}

/** The records of a file that name the keys of its authority. */
export type KeyRecords = Pick<EvidencePack, 'genesis' | 'key_history'>

function formerOf(history: KeyHistory | undefined, key: string): readonly FormerKey[] {
  return history?.former_keys.filter(({ public_key }) => public_key === key) ?? []
}

/** The keys that verify the records of a pack, and what is wrong with the history in it. */
export interface PackKeys {
  readonly keys: AuthorityKeys
  /** The keys that the pack itself gives: its block, and its history when that verifies. */
  readonly own: AuthorityKeys
  /** Undefined when the pack has no history. */
  readonly history: Finding | undefined
}

/**
 * The keys of the pack. With a trusted history, the trusted keys for each block that is not newer than the trusted one:
 * a former key may be stolen, so only the trusted history says when it counted, and an older one that the root signed
 * does not bring back a key that was taken out. A history that does not verify adds no key.
 */
export async function findKeys({ genesis, key_history }: KeyRecords, trust: PackTrust): Promise<PackKeys> {
  const verdict = key_history === null ? undefined : await verifyKeyHistory(key_history, genesis)
  const own = key_history !== null && verdict?.ok === true ? { genesis, history: key_history } : { genesis }
  const history = await trustedHistory(trust)
  if (history === undefined) return { keys: own, own, history: verdict }
  const missed = own.history === undefined ? undefined : findMissedKey(own.history, genesis, history)
  return {
    keys: newestKeys(own, trust.genesis, history),
    own,
    history: missed === undefined ? verdict : failed(`key_history_incomplete: it does not list ${missed.key_id}`),
  }
}

/** A key that the trusted history dates before the block of the pack: without it, the history is of an earlier block. */
function findMissedKey(
  own: KeyHistory,
  { network_authority }: GenesisBlock,
  trusted: KeyHistory,
): FormerKey | undefined {
  const start = instantOf(network_authority.valid_from)
  return trusted.former_keys.find(
    ({ public_key, valid_from }) =>
      instantOf(valid_from) < start &&
      public_key !== network_authority.public_key &&
      formerOf(own, public_key).length === 0,
  )
}

function newestKeys(own: AuthorityKeys, trusted: GenesisBlock | undefined, history: KeyHistory): AuthorityKeys {
  const { genesis } = own
  if (trusted === undefined || !isSameNetwork(genesis, trusted)) return own
  if (isSameBlock(genesis, trusted) || isEarlierBlock(genesis, trusted)) return { genesis: trusted, history }
  const isOlder = own.history !== undefined && instantOf(own.history.issued_at) < instantOf(history.issued_at)
  return isOlder ? { genesis } : own
}

async function trustedHistory({ genesis, keyHistory }: PackTrust): Promise<KeyHistory | undefined> {
  if (genesis === undefined || keyHistory === undefined) return undefined
  return (await verifyKeyHistory(keyHistory, genesis)).ok ? keyHistory : undefined
}

function isSameNetwork(block: GenesisBlock, trusted: GenesisBlock): boolean {
  return block.network_name === trusted.network_name && block.root_public_key === trusted.root_public_key
}

function isSameBlock(block: GenesisBlock, trusted: GenesisBlock): boolean {
  return genesisDigest(block) === genesisDigest(trusted)
}

/** Another block of the same root and network that is not newer than the trusted one. */
function isEarlierBlock(block: GenesisBlock, trusted: GenesisBlock): boolean {
  if (!isSameNetwork(block, trusted) || isSameBlock(block, trusted)) return false
  return instantOf(block.network_authority.valid_from) <= instantOf(trusted.network_authority.valid_from)
}

/**
 * The block of the pack has the trusted root. The trusted history must list the key of an earlier block: findKeys takes
 * the periods of all keys from there.
 */
export async function checkRoot({ genesis }: Pick<KeyRecords, 'genesis'>, trust: PackTrust): Promise<Finding> {
  const { genesis: trusted, rootKey, network } = trust
  if (network !== undefined && network !== genesis.network_name) return failed('other_network')
  if (rootKey !== undefined && rootKey !== genesis.root_public_key) return failed('unknown_root_key')
  if (trusted === undefined)
    return rootKey === undefined ? missing('compare the root key with the one you were given') : PASSED
  if (genesis.network_name !== trusted.network_name) return failed('other_network')
  if (genesis.root_public_key !== trusted.root_public_key) return failed('unknown_root_key')
  if (!isEarlierBlock(genesis, trusted)) return PASSED
  const history = await trustedHistory(trust)
  if (history === undefined) return failed('other_genesis: give the key history of the trusted block')
  const isListed = formerOf(history, genesis.network_authority.public_key).length > 0
  return isListed ? PASSED : failed('other_genesis: the key history does not list its key')
}
