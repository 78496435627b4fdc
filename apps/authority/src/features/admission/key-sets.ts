import { isJsonObject, keysUrlOf, member } from '@chancery/protocol'
import type { AdmissionRule, JsonObject, JsonValue } from '@chancery/protocol'
import { type Clock, type Log, fetchKeySet, readKeySet, toError } from '@chancery/service-kit'
import { isAllowedAddress } from '../../requests/allowed-address.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'

const FETCH_MS = 5000
const MAX_BYTES = 262_144
/** Keys are used so long, then read again. A SPIFFE bundle may name another time. */
const FRESH_MS = 300_000
const MIN_FRESH_MS = 60_000
/** When they cannot be read again, they are used so long. After that everything is refused. */
const USABLE_MS = 3_600_000
/** An unknown key id causes a call at most so often, so invented tokens cannot flood an issuer. */
const EARLY_EVERY_MS = 60_000
/** After a failed call, for each address. */
const RETRY_AFTER_MS = 15_000
const MAX_CALLS = 8
/** Requests that wait for one call of another. Further ones get no keys. */
const MAX_WAITING = 256
/** More than the number of rules in force. */
const MAX_SETS = 512

export interface KeySetsParts {
  readonly clock: Clock
  readonly log: Log
  readonly settings: Pick<AuthoritySettings, 'admissionAddresses' | 'admissionRoots'>
}

interface KeySet {
  keys: readonly JsonObject[] | undefined
  sequence: number
  fetchedAt: number
  freshMs: number
  triedAt: number
  fetching: Promise<void> | undefined
  waiting: number
}

/** The keys of rules: pinned ones, or those of the address of the rule, which are cached. */
export class KeySets {
  readonly #parts: KeySetsParts
  readonly #stop = new AbortController()
  readonly #sets = new Map<string, KeySet>()
  #calls = 0

  constructor(parts: KeySetsParts) {
    this.#parts = parts
  }

  /** The keys of a rule; undefined when they cannot be read. An empty list means that all were withdrawn. */
  async find(rule: AdmissionRule): Promise<readonly JsonObject[] | undefined> {
    const url = keysUrlOf(rule)
    if (url === null) return readKeySet(rule.keys)
    const set = this.#setOf(rule, url)
    const age = this.#now() - set.fetchedAt
    if (age >= set.freshMs && this.#now() - set.triedAt >= RETRY_AFTER_MS) await this.#fetchOnce(set, url)
    else if (!this.#isUsable(set)) await this.#waitFor(set)
    return this.#isUsable(set) ? set.keys : undefined
  }

  /** The keys, read again when that is due, because a token names one that is not among them. */
  async findAgain(rule: AdmissionRule): Promise<readonly JsonObject[] | undefined> {
    const url = keysUrlOf(rule)
    if (url !== null) {
      const set = this.#setOf(rule, url)
      if (this.#now() - set.triedAt >= EARLY_EVERY_MS) await this.#fetchOnce(set, url)
      else await this.#waitFor(set)
    }
    return this.find(rule)
  }

  close(): void {
    this.#stop.abort()
  }

  #now(): number {
    return this.#parts.clock.monotonicMs()
  }

  /** By address, and for SPIFFE by trust domain: bundles of two domains are never one set. */
  #setOf(rule: AdmissionRule, url: string): KeySet {
    const name = `${rule.kind === 'oidc' ? (rule.issuer ?? '') : (rule.trust_domain ?? '')}\n${url}`
    const known = this.#sets.get(name)
    if (known !== undefined) return known
    if (this.#sets.size >= MAX_SETS) this.#sets.clear()
    const never = Number.NEGATIVE_INFINITY
    const set: KeySet = {
      keys: undefined,
      sequence: -1,
      fetchedAt: never,
      freshMs: FRESH_MS,
      triedAt: never,
      fetching: undefined,
      waiting: 0,
    }
    this.#sets.set(name, set)
    return set
  }

  #isUsable({ fetchedAt }: KeySet): boolean {
    return this.#now() - fetchedAt < USABLE_MS
  }

  /** Waits for the call of another request, when there is one. */
  async #waitFor(set: KeySet): Promise<void> {
    if (set.fetching === undefined || set.waiting >= MAX_WAITING) return
    set.waiting += 1
    try {
      await set.fetching
    } finally {
      set.waiting -= 1
    }
  }

  async #fetchOnce(set: KeySet, url: string): Promise<void> {
    if (set.fetching === undefined && this.#calls >= MAX_CALLS) return
    set.fetching ??= this.#fetch(set, url).finally(() => {
      set.fetching = undefined
    })
    await set.fetching
  }

  async #fetch(set: KeySet, url: string): Promise<void> {
    const { admissionAddresses, admissionRoots } = this.#parts.settings
    set.triedAt = this.#now()
    this.#calls += 1
    try {
      const { keys, document } = await fetchKeySet({
        url: new URL(url),
        timeoutMs: FETCH_MS,
        maxBytes: MAX_BYTES,
        extraRoots: admissionRoots,
        isAllowed: (address) => isAllowedAddress(address, admissionAddresses, false),
        signal: this.#stop.signal,
      })
      this.#take(set, keys, document)
    } catch (thrown) {
      if (!this.#stop.signal.aborted)
        this.#parts.log.warn('keys of an admission rule not read', { url, error: toError(thrown) })
    } finally {
      this.#calls -= 1
    }
  }

  #take(set: KeySet, keys: readonly JsonObject[], value: JsonValue): void {
    // A bundle never goes back: an old one could have a key that was withdrawn.
    const sequence = wholeNumber(value, 'spiffe_sequence') ?? 0
    if (sequence < set.sequence) throw new Error('the sequence of the bundle went back')
    const hint = wholeNumber(value, 'spiffe_refresh_hint')
    set.keys = keys
    set.sequence = sequence
    set.fetchedAt = this.#now()
    set.freshMs = hint === undefined ? FRESH_MS : Math.min(Math.max(hint * 1000, MIN_FRESH_MS), USABLE_MS / 2)
  }
}

function wholeNumber(value: JsonValue, name: string): number | undefined {
  const found = isJsonObject(value) ? member(value, name) : undefined
  return typeof found === 'number' && found >= 0 ? found : undefined
}
