import { genesisDigest, instantOf, verifyKeyHistory } from '@chancery/protocol'
import type { AuthorityKeys, FormerKey, GenesisBlock, KeyHistory } from '@chancery/protocol'
import { PASSED, failed, missing } from './finding.ts'
import type { Finding } from './finding.ts'
import type { EvidencePack } from './format.ts'
import type { PackTrust } from './report.ts'

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
 * The keys of the pack. For an earlier block than the trusted one, the trusted keys with their history: the earlier key
 * may be stolen, so only the trusted history says when it counted. A history that does not verify adds no key.
 */
export async function findKeys({ genesis, key_history }: KeyRecords, trust: PackTrust): Promise<PackKeys> {
  const verdict = key_history === null ? undefined : await verifyKeyHistory(key_history, genesis)
  const own = key_history !== null && verdict?.ok === true ? { genesis, history: key_history } : { genesis }
  const trusted = trust.genesis
  const isEarlier = trusted !== undefined && isEarlierBlock(genesis, trusted)
  const history = isEarlier ? await trustedHistory(trust) : undefined
  const keys = trusted === undefined || history === undefined ? own : { genesis: trusted, history }
  return { keys, own, history: verdict }
}

async function trustedHistory({ genesis, keyHistory }: PackTrust): Promise<KeyHistory | undefined> {
  if (genesis === undefined || keyHistory === undefined) return undefined
  return (await verifyKeyHistory(keyHistory, genesis)).ok ? keyHistory : undefined
}

/** Another block of the same root and network that is not newer than the trusted one. */
function isEarlierBlock(block: GenesisBlock, trusted: GenesisBlock): boolean {
  if (block.network_name !== trusted.network_name || block.root_public_key !== trusted.root_public_key) return false
  if (genesisDigest(block) === genesisDigest(trusted)) return false
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
