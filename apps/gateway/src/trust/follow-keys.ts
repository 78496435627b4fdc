import { type JsonObject, allAuthorityKeys, asJson, canonicalJson, readTrustedPublicKey } from '@chancery/protocol'
import { OutboundError, callUrl } from '@chancery/service-kit'
import type { Clock, Log, OutboundResponse } from '@chancery/service-kit'
import type { Counter, Labelled } from '@chancery/service-kit'
import { filePolicyOf, issuersOfNetwork } from '../policy/policy.ts'
import type { FollowedKeys, IssuerPolicy, NetworkPolicy } from '../policy/policy.ts'
import { authorityAddress } from '../policy/urls.ts'
import { Problems } from '../policy/form.ts'
import type { GatewaySettings } from '../settings/gateway-settings.ts'
import type { DurableState } from '../state/durable-state.ts'
import { keyOf, pinOf } from './followed-keys.ts'
import type { ListWorker } from './list-worker.ts'
import { loadLists } from './load-lists.ts'
import type { OfferedKeys } from './read-succession.ts'
import { isUsable, issuerKey } from './snapshot.ts'
import type { TrustState } from './trust-state.ts'

export interface FollowParts {
  readonly trust: TrustState
  readonly listWorker: ListWorker
  readonly state: Pick<DurableState, 'findStored'> | undefined
  readonly clock: Clock
  readonly log: Log
  readonly settings: Pick<GatewaySettings, 'maxListBytes'>
  readonly followed: Labelled<{ readonly outcome: readonly ['followed', 'refused'] }, Counter>
  /** Called when an offer is refused for another reason than the last time, for the audit. */
  readonly onRefused: (facts: JsonObject) => void
}

const FETCH_MS = 10_000
/** Room for block and history in addition to the first list. */
const MORE_BYTES = 1_048_576

/**
 * Follows the key successions of the networks whose root key is pinned (protocol/gateway 3.12). Only keys that the root
 * signed are used, each with a list that it signed.
 */
export class KeyFollower {
  readonly #parts: FollowParts
  readonly #refusals = new Map<string, string>()

  constructor(parts: FollowParts) {
    this.#parts = parts
  }

  /** Asks the authority of a network for newer keys and uses them. Returns whether the issuers changed. */
  async follow(name: string, signal: AbortSignal): Promise<boolean> {
    const { trust, log } = this.#parts
    const { policy } = trust.current
    const [network, file] = [policy.networks.get(name), filePolicyOf(policy).networks.get(name)]
    const address = authorityAddress(file?.primary.listUrl)
    if (network?.rootKey === undefined || file === undefined || address === undefined) return false
    const get = (path: string): Promise<OutboundResponse> => this.#get(file.primary, `${address}${path}`, signal)
    try {
      const { status, body } = await get('/key-succession')
      // 404: there never was a succession.
      if (status !== 200) return false
      const known = policy.followed?.keys.get(name)
      const offer = await this.#parts.listWorker.readSuccession({ bytes: body, held: known?.keys ?? pinOf(file) })
      if ('refusal' in offer) return this.#refuse(name, offer.refusal)
      const next = await this.#choose(network, offer, get)
      if (typeof next === 'string') return this.#refuse(name, next)
      this.#refusals.delete(name)
      if (next === undefined || (known !== undefined && isSame(known, next.followed))) return false
      return await this.#use(network, next)
    } catch (thrown) {
      if (!(thrown instanceof OutboundError)) throw thrown
      log.debug('the keys of a network were not read', { network: name, kind: thrown.kind })
      return false
    }
  }

  #refuse(network: string, reason: string): false {
    const { log, followed, onRefused } = this.#parts
    followed.with({ outcome: 'refused' }).increase()
    log.error('offered keys are not followed: the pinned root key does not lead to them', {
      alarm: true,
      network,
      reason,
    })
    if (this.#refusals.get(network) !== reason) onRefused({ network, reason })
    this.#refusals.set(network, reason)
    return false
  }

  /**
   * The keys to use: the one that signs now, and the announced one, the last former one and others in use while their
   * lists are in force. Undefined while the list of the first cannot be had.
   */
  async #choose(
    network: NetworkPolicy,
    offer: OfferedKeys,
    get: (path: string) => Promise<OutboundResponse>,
  ): Promise<Chosen | 'repeated_key_id' | undefined> {
    const { keys, signingKey, firstList } = offer
    const own = allAuthorityKeys(keys)
    const lists = new Map<string, Uint8Array>()
    const issuers: Record<string, string> = {}
    for (const issuer of issuersOfNetwork(network)) {
      const key = keyOf(issuer)
      if (own.includes(key) && (key === signingKey || this.#isInForce(issuer))) issuers[issuer.issuer] = key
    }
    for (const key of new Set([signingKey, ...wantedKeys(keys)])) {
      if (Object.values(issuers).includes(key)) continue
      const list = key === signingKey || firstList === undefined ? await this.#fetch(keys, key, get) : firstList
      if (list === undefined || !(await this.#isAuthentic(network, key, list))) continue
      if (isTaken(network, keys, list.issuer, key) || Object.hasOwn(issuers, list.issuer)) return 'repeated_key_id'
      issuers[list.issuer] = key
      lists.set(list.issuer, list.bytes)
    }
    const signing = Object.keys(issuers).find((id) => issuers[id] === signingKey)
    return signing === undefined ? undefined : { followed: { keys, signing, issuers }, lists }
  }

  /** The list of one key: that of a former one by its id, otherwise the current list. */
  async #fetch(
    { history }: FollowedKeys['keys'],
    key: string,
    get: (path: string) => Promise<OutboundResponse>,
  ): Promise<OfferedKeys['firstList']> {
    const named = history.former_keys.find(({ public_key }) => public_key === key)
    const { status, body } = await get(named === undefined ? '/crl' : `/crl/keys/${encodeURIComponent(named.key_id)}`)
    const issuer = status === 200 ? await this.#parts.listWorker.issuerOf(body) : undefined
    return issuer === undefined ? undefined : { issuer, bytes: body }
  }

  /** Whether this key signed the list, it is fresh, and it continues what was stored of this issuer. */
  async #isAuthentic(
    { name, primary }: NetworkPolicy,
    key: string,
    { issuer, bytes }: NonNullable<OfferedKeys['firstList']>,
  ): Promise<boolean> {
    const { clock, listWorker, state } = this.#parts
    const raw = readTrustedPublicKey(key)
    if (raw === undefined) return false
    const anchors = new Map([[issuer, raw]])
    const floor = (await state?.findStored(name, issuer))?.sequence ?? 0
    const task = { bytes, issuer, anchors, floor, freshness: primary.freshness, now: clock.now() }
    return (await listWorker.check({ ...task, demand: 'fresh' })).outcome === 'installed'
  }

  async #use(network: NetworkPolicy, { followed, lists }: Chosen): Promise<boolean> {
    const { trust, state, listWorker, clock, log, followed: counter } = this.#parts
    const { name } = network
    const isUsed = await trust.follow(network, followed, async (next) => {
      const problems = new Problems()
      const stored = async ({ issuer }: IssuerPolicy) =>
        trust.current.issuers.get(issuerKey(name, issuer)) ?? (await state?.findStored(name, issuer))
      const tools = { listWorker, now: clock.now(), problems, offered: lists }
      const loaded = await loadLists(issuersOfNetwork(next), stored, tools)
      if (problems.list.length > 0) throw new Error(problems.list.map(({ message }) => message).join('; '))
      return loaded
    })
    if (!isUsed) return false
    counter.with({ outcome: 'followed' }).increase()
    const key_ids = Object.keys(followed.issuers)
    log.info('followed the keys of a network', { network: name, signing_key_id: followed.signing, key_ids })
    return true
  }

  #isInForce({ network, issuer }: IssuerPolicy): boolean {
    const issuerState = this.#parts.trust.current.issuers.get(issuerKey(network, issuer))
    return issuerState !== undefined && isUsable(issuerState, this.#parts.clock.now())
  }

  #get({ allowHttp, extraRoot }: IssuerPolicy, url: string, signal: AbortSignal): Promise<OutboundResponse> {
    return callUrl({
      url: new URL(url),
      headers: { accept: 'application/json' },
      takesGzip: true,
      timeoutMs: FETCH_MS,
      maxBytes: this.#parts.settings.maxListBytes + MORE_BYTES,
      allowPrivate: allowHttp,
      signal,
      ...(extraRoot === undefined ? {} : { extraRoots: [extraRoot] }),
    })
  }
}

interface Chosen {
  readonly followed: FollowedKeys
  /** New lists by key id. */
  readonly lists: ReadonlyMap<string, Uint8Array>
}

/** The key of the block, and the last former one: an authority serves the list of one former key. */
function wantedKeys({ genesis, history }: FollowedKeys['keys']): readonly string[] {
  const current = genesis.network_authority.public_key
  const former = history.former_keys.filter(({ public_key }) => public_key !== current)
  const last = former.toSorted((a, b) => (a.valid_to < b.valid_to ? 1 : -1))[0]
  return [current, ...(last === undefined ? [] : [last.public_key])]
}

/** Whether an id is that of another key: of a former one, or of an issuer of the policy that is not of this authority. */
function isTaken(network: NetworkPolicy, { history }: FollowedKeys['keys'], id: string, key: string): boolean {
  const named = history.former_keys.some(({ key_id, public_key }) => key_id === id && public_key !== key)
  return named || issuersOfNetwork(network).some((issuer) => issuer.issuer === id && keyOf(issuer) !== key)
}

function isSame(before: FollowedKeys, next: FollowedKeys): boolean {
  return canonicalJson(asJson(before)) === canonicalJson(asJson(next))
}
