import {
  allAuthorityKeys,
  asJson,
  isJsonObject,
  readGenesisBlock,
  readJson,
  readKeyHistory,
  verifySuccession,
  writeJson,
} from '@chancery/protocol'
import type { FormerKey, HeldKeys } from '@chancery/protocol'
import { authorityAddress } from '../policy/urls.ts'
import { filePolicyOf, issuersOfNetwork } from '../policy/policy.ts'
import type { FollowedKeys, IssuerPolicy, NetworkPolicy, Policy } from '../policy/policy.ts'
import { KEYS_ROW, type StoredCheckpoint } from '../state/checkpoints.ts'
import { StateError } from '../state/state-values.ts'

/** What an offered block is verified against before the first one was followed: the keys of the policy file. */
export function pinOf({ name, rootKey = '', primary }: NetworkPolicy): HeldKeys {
  const network_authority = { public_key: keyOf(primary), valid_from: '1970-01-01T00:00:00Z' }
  return { genesis: { network_name: name, root_public_key: rootKey, network_authority } }
}

/** The key that signs the lists of an issuer. */
export function keyOf({ anchors, issuer }: IssuerPolicy): string {
  return Buffer.from(anchors.get(issuer) ?? []).toString('base64')
}

/** Adds followed keys to the policy of a file. The result is the same in every process. */
export function withFollowed(file: Policy, keys: ReadonlyMap<string, FollowedKeys>): Policy {
  if (keys.size === 0) return file
  const networks = new Map(file.networks)
  for (const [name, followed] of keys) {
    const network = file.networks.get(name)
    if (network !== undefined) networks.set(name, followNetwork(network, followed))
  }
  return { ...file, networks, followed: { file, keys } }
}

function followNetwork(network: NetworkPolicy, { keys, signing, issuers }: FollowedKeys): NetworkPolicy {
  const own = allAuthorityKeys(keys)
  const used = Object.entries(issuers).map(([id, key]) => toIssuer(network, id, key, periodOf(keys, key)))
  const primary = used.find(({ issuer }) => issuer === signing) ?? network.primary
  const others = network.additional.filter((issuer) => !own.includes(keyOf(issuer)))
  const anchorTexts = Object.fromEntries([...primary.anchors].map(([id, key]) => [id, toText(key)]))
  const additional = [...used.filter((issuer) => issuer !== primary), ...others]
  const current = keys.genesis.network_authority.public_key
  const formerKeys = keys.history.former_keys.filter((key) => key.public_key !== current)
  return { ...network, primary, additional, anchorTexts, formerKeys }
}

/** A former key counts for its own time. The key of the block has no end here: its window ends what it signs. */
function periodOf({ genesis, history }: FollowedKeys['keys'], key: string): FormerKey | undefined {
  if (key === genesis.network_authority.public_key) return undefined
  return history.former_keys.find(({ public_key }) => public_key === key)
}

function toIssuer(network: NetworkPolicy, id: string, key: string, period: FormerKey | undefined): IssuerPolicy {
  const configured = issuersOfNetwork(network).find((each) => each.issuer === id && keyOf(each) === key)
  const { primary } = network
  const followed = {
    ...primary,
    issuer: id,
    path: `networks.${network.name}`,
    anchors: new Map([[id, new Uint8Array(Buffer.from(key, 'base64'))]]),
    bootstrap: undefined,
    floor: 0,
  }
  const { listUrl = primary.listUrl, ...issuer } = configured ?? followed
  const address = authorityAddress(listUrl)
  return {
    ...issuer,
    listUrl: address === undefined ? listUrl : new URL(`${address}/crl/keys/${encodeURIComponent(id)}`),
    ...(period === undefined ? {} : { period }),
  }
}

function toText(key: Uint8Array): string {
  return Buffer.from(key).toString('base64')
}

/** Text of followed keys, as they are stored. */
export function writeFollowed({ keys, signing, issuers }: FollowedKeys): string {
  return writeJson(asJson({ genesis: keys.genesis, key_history: keys.history, signing, issuers }))
}

function readFollowed({ network, body }: StoredCheckpoint): FollowedKeys {
  const value = readJson(body)
  const { genesis = null, key_history = null, signing, issuers = null } = isJsonObject(value) ? value : {}
  if (typeof signing !== 'string' || !isJsonObject(issuers))
    throw new StateError(`the stored keys of ${network} cannot be read`)
  const keys = { genesis: readGenesisBlock(genesis), history: readKeyHistory(key_history) }
  return { keys, signing, issuers: issuers as Readonly<Record<string, string>> }
}

/** The keys that were followed, from a state. */
export function storedKeys(checkpoints: readonly StoredCheckpoint[]): ReadonlyMap<string, FollowedKeys> {
  const rows = checkpoints.filter(({ issuer }) => issuer === KEYS_ROW)
  return new Map(rows.map((row) => [row.network, readFollowed(row)]))
}

/**
 * The policy of a file with those followed keys that its pins lead to. Others are left out: an operator pinned another
 * root, or a key that this root did not name.
 */
export async function continueFollowing(
  file: Policy,
  known: ReadonlyMap<string, FollowedKeys>,
  onLeftOut?: (network: string, reason: string) => void,
): Promise<Policy> {
  const kept = new Map<string, FollowedKeys>()
  for (const [name, followed] of known) {
    const network = filePolicyOf(file).networks.get(name)
    if (network?.rootKey === undefined) continue
    const verdict = await verifySuccession(pinOf(network), followed.keys)
    const reason = verdict.ok ? whyUnknown(followed) : verdict.reason
    if (reason === undefined) kept.set(name, followed)
    else onLeftOut?.(name, reason)
  }
  return withFollowed(file, kept)
}

/** The ids in a state are not signed: each must be of a key that the root signed for. */
function whyUnknown({ keys, signing, issuers }: FollowedKeys): 'unknown_key' | undefined {
  const own = allAuthorityKeys(keys)
  const isKnown = Object.hasOwn(issuers, signing) && Object.values(issuers).every((key) => own.includes(key))
  return isKnown ? undefined : 'unknown_key'
}
