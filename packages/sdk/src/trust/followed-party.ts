import { instantOf, positionOfList, toTrustDecision, verifyGenesisBlock, wasCurrent } from '@chancery/protocol'
import type {
  AdvanceRefusal,
  GenesisBlock,
  Instant,
  JoinCertificate,
  KeyHistory,
  ListPosition,
  RevocationList,
} from '@chancery/protocol'
import type { ListSource } from './list-source.ts'
import { RefusedError, UsageError } from '../errors.ts'
import { type CertificateVerdict, toVerdict } from './certificate-verdict.ts'
import { type Time, timeOf } from './signing-time.ts'
import { type Followed, FollowedKeys, type KeyStore, MemoryNodeStore } from '../node/followed.ts'
import type { CallOptions } from '../http/call.ts'
import { RelyingParty } from '../verify/relying-party.ts'
import { ListPositions } from './list-positions.ts'
import type { InstallRefusal, NetworkPins, OfferedList } from '../verify/relying-party.ts'
import { deltaStart, offeredWithDelta } from './scanned-list.ts'

export interface FollowedPartyOptions extends Omit<
  NetworkPins,
  'network' | 'anchors' | 'crl' | 'additional_issuers' | 'minimum_crl_sequence'
> {
  readonly client: ListSource
  /** The genesis block of the network, from a place you trust. Its root key decides which keys count later. */
  readonly genesis: GenesisBlock
  /** With it: the keys its authority had before, as its root signed them. */
  readonly keyHistory?: KeyHistory
  /** Lists of an earlier run, one of each key, so that it can begin while the authority is away. */
  readonly lists?: readonly RevocationList[]
  /** Stores the newest block and the highest sequences of lists over restarts; in memory when not given. */
  readonly store?: KeyStore
  readonly clock?: () => Instant
}

/** `current`: the list in force is the one that is served. `none`: no list of this key is served any more. */
export type ListOutcome = 'current' | 'none' | InstallRefusal

export interface Refreshed {
  /** What came of asking for a newer block. */
  readonly keys: Followed
  /** By key id of the issuer. */
  readonly lists: Readonly<Record<string, ListOutcome>>
}

/**
 * A {@link RelyingParty} that needs no pinned key id: it takes the keys of the authority from a genesis block, follows
 * key successions by the root key, and reads the list of each key. Call {@link refresh} regularly; certificates are
 * verified without network calls.
 */
export class FollowedParty {
  readonly #options: FollowedPartyOptions
  readonly #followed: FollowedKeys
  readonly #positions: ListPositions
  /** Public keys with a list in force. */
  readonly #pinned = new Set<string>()
  #party: RelyingParty | undefined
  /** The current list as it was read last, when it is large: the next one is read as a change of it. */
  #held: OfferedList | undefined
  #currentIssuer: string | undefined
  /** No refresh reached the authority yet: it began with lists of an earlier run. */
  isBehind = false

  private constructor(options: FollowedPartyOptions, followed: FollowedKeys, positions: ListPositions) {
    this.#options = options
    this.#followed = followed
    this.#positions = positions
  }

  /**
   * Throws when block, history or a given list does not verify, or when no list can be had. A given list that is older
   * than the last accepted one is not used.
   */
  static async open(options: FollowedPartyOptions): Promise<FollowedParty> {
    const { genesis, keyHistory, lists = [], store = new MemoryNodeStore() } = options
    const verdict = await verifyGenesisBlock(genesis)
    if (!verdict.ok) throw new UsageError(`the genesis block is not valid: ${verdict.reason}`)
    const keys = await FollowedKeys.open(genesis, store, keyHistory)
    const party = new FollowedParty(options, keys, await ListPositions.open(store))
    for (const list of lists) await party.#pin(list)
    let outcomes: Refreshed['lists'] = {}
    try {
      outcomes = (await party.refresh()).lists
    } catch (error) {
      // What was brought along is in force until it ends.
      if (party.#party === undefined) throw error
      party.isBehind = true
    }
    if (party.#party !== undefined) return party
    if (Object.values(outcomes).includes('rollback'))
      throw new UsageError('the authority serves an older list than the last accepted one')
    throw new UsageError('the authority serves no list that one of its keys signed')
  }

  /** The keys of the authority, as the root signed them last. */
  get keys(): FollowedKeys['keys'] {
    return this.#followed.keys
  }

  /** When the current list ends. */
  get listExpiresAt(): Instant | undefined {
    return this.#party?.nextUpdateOf(this.#currentIssuer)
  }

  /** The sequence in force for a key id. */
  sequenceOf(issuer: string): number | undefined {
    return this.#party?.sequenceOf(issuer)
  }

  /** Takes up newer keys and newer lists. What is refused changes nothing; throws when the authority cannot be asked. */
  async refresh(signal?: AbortSignal): Promise<Refreshed> {
    const { client } = this.#options
    const call = signal === undefined ? {} : { signal }
    let failure: Error | undefined
    const keys = await this.#followed.follow(client, signal).catch((error: unknown): Followed => {
      // Lists still come from elsewhere, such as a cache, and must not become old because of it.
      failure = error instanceof Error ? error : new Error(String(error))
      return 'unchanged'
    })
    const { issuer, outcome } = await this.#refreshCurrent(call)
    if (this.#party?.sequenceOf(issuer) !== undefined) this.#currentIssuer = issuer
    const lists: Record<string, ListOutcome> = { [issuer]: outcome }
    for (const { key_id } of this.#former()) {
      if (key_id === issuer) continue
      const list = await orUndefined(client.crl.scannedOfKey(key_id, call))
      lists[key_id] = list === undefined ? 'none' : await this.#install(list)
    }
    // Before the switch: the list that the next key is pinned with.
    if (!this.#pinned.has(this.#followed.current)) {
      const first = (await orUndefined(client.sovereign.keySuccession(call)))?.first_list ?? undefined
      if (first !== undefined) lists[first.issuer] = await this.#install(first)
    }
    if (failure !== undefined) throw failure
    this.isBehind = false
    return { keys, lists }
  }

  /**
   * Verifies one certificate as {@link RelyingParty.evaluate} does. A certificate of a former key must also be dated in
   * the time of that key (decision 0006).
   */
  async evaluate(presented: JoinCertificate, at?: Time): Promise<CertificateVerdict> {
    const time = timeOf(at ?? this.#options.clock?.())
    if (this.#party === undefined) throw new UsageError('no list was read yet')
    const verdict = await this.#party.evaluate(presented, time)
    if (!verdict.trusted) return verdict
    const { issued_by: key_id, issued_at } = presented
    const former = this.#former().find((key) => key.key_id === key_id && key.public_key !== this.#followed.current)
    if (former === undefined || wasCurrent(former, instantOf(issued_at))) return verdict
    const refused = { findings: [{ code: 'unknown_issuer' as const, key_id }], issuer: undefined, expiresAt: undefined }
    const facts = { network: presented.network_name, policyRevision: this.#options.revision ?? null, now: time }
    return toVerdict(toTrustDecision(refused, facts), verdict.certificate)
  }

  /** Reads the change since the held list where there is one, and the full list otherwise. */
  async #refreshCurrent(call: CallOptions): Promise<{ readonly issuer: string; readonly outcome: ListOutcome }> {
    const next = await this.#readDelta(call)
    const held = this.#held
    // A cache may repeat an old answer: a list that is over is read in full.
    if (next === 'same' && held !== undefined && this.#isInForce(held))
      return { issuer: held.issuer, outcome: 'current' }
    if (next !== undefined && next !== 'same') {
      const outcome = await this.#install(next)
      if (outcome === 'current') this.#held = next
      // Both lists are signed: the full list, which may be the held one, must not hide it.
      if (outcome === 'current' || outcome === 'equivocation') return { issuer: next.issuer, outcome }
    }
    const served = await this.#options.client.crl.scanned(call)
    const outcome = await this.#install(served)
    // Only a list in force is a base.
    if (outcome === 'current') this.#held = deltaStart(served) === undefined ? undefined : served
    return { issuer: served.issuer, outcome }
  }

  #isInForce({ position }: OfferedList): boolean {
    return (this.#options.clock?.() ?? timeOf(undefined)) < position.nextUpdate
  }

  /** A delta that cannot be read or does not fit is no failure: the full list decides. */
  async #readDelta(call: CallOptions): Promise<OfferedList | 'same' | undefined> {
    const held = this.#held
    const start = deltaStart(held)
    if (held === undefined || start === undefined) return undefined
    try {
      const bytes = await this.#options.client.crl.delta(start.sequence, held.issuer, call)
      return bytes && offeredWithDelta(held, bytes)
    } catch (error) {
      if (call.signal?.aborted === true) throw error
      return undefined
    }
  }

  #former(): KeyHistory['former_keys'] {
    return this.#followed.keys.history?.former_keys ?? []
  }

  /** A list of a key that is pinned is installed; of another one it is the first. */
  async #install(offered: RevocationList | OfferedList): Promise<ListOutcome> {
    const party = this.#party
    if (party?.sequenceOf(offered.issuer) === undefined) return this.#pinFirst(offered)
    const verdict = await party.install(offered, this.#options.clock?.())
    if (!verdict.valid) return verdict.reason
    await this.#positions.accept(positionOf(offered))
    return 'current'
  }

  async #pinFirst(list: RevocationList | OfferedList): Promise<ListOutcome> {
    try {
      return (await this.#pin(list)) ?? 'current'
    } catch (error) {
      if (error instanceof UsageError) return 'not_authentic'
      throw error
    }
  }

  /**
   * Adds the first list of a key in this run, or returns why it is refused. The key is one that the root signed: the history
   * names former keys by their id, the other is the current one.
   */
  async #pin(crl: RevocationList | OfferedList): Promise<AdvanceRefusal | undefined> {
    const problem = this.#positions.findProblem(positionOf(crl))
    if (problem !== undefined) return problem
    const { genesis, freshness, ...options } = this.#options
    const named = this.#former().find(({ key_id }) => key_id === crl.issuer)
    const key = named?.public_key ?? this.#followed.current
    const anchors = { [crl.issuer]: key }
    const pins = { anchors, crl, ...(freshness === undefined ? {} : { freshness }) }
    if (this.#party === undefined)
      this.#party = await RelyingParty.open({ ...options, ...pins, network: genesis.network_name })
    else await this.#party.pin(pins)
    this.#pinned.add(key)
    await this.#positions.accept(positionOf(crl))
    return undefined
  }
}

function positionOf(list: RevocationList | OfferedList): ListPosition {
  return 'isAuthentic' in list ? list.position : positionOfList(list)
}

/** Undefined where the authority says that there is none. */
async function orUndefined<Value>(asked: Promise<Value>): Promise<Value | undefined> {
  try {
    return await asked
  } catch (error) {
    if (error instanceof RefusedError && error.status === 404) return undefined
    throw error
  }
}
