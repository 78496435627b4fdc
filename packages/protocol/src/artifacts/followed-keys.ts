import { canonicalJson } from '../canonical/canonical-json.ts'
import { digestOf } from '../canonical/digest.ts'
import { type Instant, readInstant } from '../canonical/time.ts'
import { instantOf } from '../reading/text.ts'
import { type GenesisBlock, verifyGenesisBlock } from './genesis-block.ts'
import { type FormerKey, type KeyHistory, verifyKeyHistory, wasCurrent } from './key-history.ts'
import { VALID, type Verdict, invalid } from './verdict.ts'

/** The keys of one authority as its root signed them: the current one, and the former ones with their periods. */
export type AuthorityKeys = {
  readonly genesis: GenesisBlock
  readonly history?: KeyHistory | undefined
}

/** What a follower verifies an offer against: a block, or what an operator pinned of one. */
export type HeldKeys = {
  readonly genesis: Pick<GenesisBlock, 'network_name' | 'root_public_key'> & {
    readonly network_authority: Pick<GenesisBlock['network_authority'], 'public_key' | 'valid_from'>
  }
  readonly history?: KeyHistory | undefined
}

/**
 * The keys that may have signed a record of this date: the current one, and each former one whose window holds the
 * date. Only the current one when there is no date.
 */
export function authorityKeysAt(keys: AuthorityKeys, date: unknown): readonly string[] {
  const at = toInstant(date)
  return pickKeys(keys, (key) => at !== undefined && wasCurrent(key, at))
}

/**
 * As {@link authorityKeysAt}, but the current key counts in its own period only: a record with another date was not
 * signed by the authority. A key that became current again is also listed with its earlier period.
 */
export function keysInPeriod(keys: AuthorityKeys, date: string): readonly string[] {
  const { public_key: current, valid_from, valid_to } = keys.genesis.network_authority
  const former = keys.history?.former_keys.filter(({ public_key }) => public_key === current) ?? []
  const periods = [{ key_id: '', public_key: current, valid_from, valid_to }, ...former]
  const isCurrent = periods.some((period) => wasCurrent(period, instantOf(date)))
  return authorityKeysAt(keys, date).filter((key) => key !== current || isCurrent)
}

/** All of them, the current one first: for a record that bears no date of its signature. */
export function allAuthorityKeys(keys: HeldKeys): readonly string[] {
  return pickKeys(keys, () => true)
}

/** Each key once: one that became current again is also listed in the history. */
function pickKeys({ genesis, history }: HeldKeys, isMeant: (key: FormerKey) => boolean): readonly string[] {
  const { public_key: current } = genesis.network_authority
  const former = history?.former_keys.filter((key) => key.public_key !== current && isMeant(key)) ?? []
  return [current, ...former.map((key) => key.public_key)]
}

/** Where records of the protocol say when they were signed; the first that is there counts. */
const DATES = [
  'issued_at',
  'decision_made_at',
  'attested_at',
  'proof_issued_at',
  'executed_at',
  'anchored_at',
  'committed_at',
  'voted_at',
  'declared_at',
  'created_at',
  'opened_at',
] as const

/** Who may have signed: keys that count at any time, or those of an authority, each for records of its time. */
export type SignerKeys = readonly string[] | AuthorityKeys

/** The keys that may have signed this record. One that bears no date may be of any key of the authority. */
export function signersOf(keys: SignerKeys, record: object): readonly string[] {
  if (!('genesis' in keys)) return keys
  const dates = record as Readonly<Record<string, unknown>>
  const name = DATES.find((each) => typeof dates[each] === 'string')
  return name === undefined ? allAuthorityKeys(keys) : authorityKeysAt(keys, dates[name])
}

function toInstant(date: unknown): Instant | undefined {
  if (typeof date === 'bigint') return date
  return typeof date === 'string' ? readInstant(date) : undefined
}

/** What two parties compare to know whether they hold the same block. */
export function genesisDigest(block: GenesisBlock): string {
  const { signatures: _signatures, ...rest } = block
  return digestOf(rest)
}

export type FollowRefusal =
  | 'missing_signature'
  | 'invalid_signature'
  | 'root_key_reused'
  | 'other_network'
  | 'other_root'
  | 'repeated_key'
  /** The history does not name the key that is held: a stolen key is not handed over, and a person has to decide. */
  | 'key_not_in_history'
  /** Older than what is held, or a key that was in the history is missing. */
  | 'rollback'

/**
 * Whether a block and its key history may take the place of those held. Only the root key that is held already counts:
 * an authority key, or who controls the network, cannot bring in another one.
 */
export async function verifySuccession(
  stored: HeldKeys,
  offered: AuthorityKeys & { readonly history: KeyHistory },
): Promise<Verdict<FollowRefusal>> {
  const { genesis, history } = offered
  if (genesis.network_name !== stored.genesis.network_name) return invalid('other_network')
  if (genesis.root_public_key !== stored.genesis.root_public_key) return invalid('other_root')
  for (const verdict of [await verifyGenesisBlock(genesis), await verifyKeyHistory(history, genesis)])
    if (!verdict.ok) return verdict
  if (isOlder(stored, offered)) return invalid('rollback')
  const known = new Set(allAuthorityKeys(offered))
  if (!known.has(stored.genesis.network_authority.public_key)) return invalid('key_not_in_history')
  return allAuthorityKeys(stored).every((key) => known.has(key)) ? VALID : invalid('rollback')
}

function isOlder(stored: HeldKeys, { genesis, history }: AuthorityKeys & { readonly history: KeyHistory }): boolean {
  const starts = (block: HeldKeys['genesis']): Instant => instantOf(block.network_authority.valid_from)
  if (starts(genesis) < starts(stored.genesis)) return true
  if (stored.history === undefined) return false
  const [before, now] = [instantOf(stored.history.issued_at), instantOf(history.issued_at)]
  // Two histories of one instant: their order is unknown.
  return now < before || (now === before && canonicalJson(history) !== canonicalJson(stored.history))
}
