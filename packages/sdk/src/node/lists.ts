import {
  CompactCrl,
  DELTA_FROM_BYTES,
  checkListAdvance,
  fromUtf8,
  instantOf,
  joinBytes,
  readJson,
  readPolicyManifest,
  toUtf8,
  verifyList,
  writeJson,
} from '@chancery/protocol'
import type { Crl, CrlEntry, Instant, PolicyManifest } from '@chancery/protocol'
import type { HeartbeatResponse } from '@chancery/contract'
import type { NodeAreas } from './areas.ts'
import type { FollowedKeys, NodeStore } from './followed.ts'
import type { RefusedList } from './events.ts'
import type { NodeSettings } from './settings.ts'

export interface ListParts {
  readonly client: NodeAreas
  readonly store: NodeStore
  readonly followed: FollowedKeys
  /** `followsCrl`: without it the list is read during a key succession only. */
  readonly settings: Pick<NodeSettings, 'emit' | 'followsCrl'>
  readonly clock: () => Instant
  readonly signal: AbortSignal
}

/** Revocation list and policy as the authority has them, fetched only when a heartbeat says that they changed. */
export class NodeLists {
  readonly #parts: ListParts
  #crl: CompactCrl | undefined
  #policy: PolicyManifest | undefined
  /** The last reported refusal; it is not repeated at every heartbeat. */
  #reported = ''
  /** The current key that a held list was signed by. */
  #switchedTo: string | undefined
  /** What was looked up last: a node asks for its own certificate at every heartbeat. */
  #lookUp: { readonly list: CompactCrl; readonly certId: string; readonly entry: CrlEntry | undefined } | undefined

  private constructor(parts: ListParts) {
    this.#parts = parts
  }

  /** Continues an earlier run: its list still protects against an older one. */
  static async open(parts: ListParts): Promise<NodeLists> {
    const lists = new NodeLists(parts)
    lists.#crl = await lists.#readStoredCrl()
    lists.#policy = await lists.#readStoredPolicy()
    // A killed run may have stored the list without the switch to its signing key.
    if (lists.#crl !== undefined) await lists.#noteSigner(lists.#crl)
    return lists
  }

  get crl(): Crl | undefined {
    return this.#crl?.crl
  }

  get policy(): PolicyManifest | undefined {
    return this.#policy
  }

  entryOf(certId: string): CrlEntry | undefined {
    const list = this.#crl
    if (list === undefined) return undefined
    if (this.#lookUp?.list !== list || this.#lookUp.certId !== certId)
      this.#lookUp = { list, certId, entry: list.entryOf(certId) }
    return this.#lookUp.entry
  }

  async followCrl({ crl_sequence: announced }: HeartbeatResponse): Promise<void> {
    const { client, clock, followed, settings, signal } = this.#parts
    // The first list that the next key signs says that it signs from now on, so each node needs one then.
    if (!settings.followsCrl && followed.audience === followed.current) return
    const stored = this.#crl?.position
    // An expired list is fetched again even when its sequence is the same: the authority signs it again.
    const isFresh = stored !== undefined && clock() < stored.nextUpdate
    if (stored !== undefined && isFresh && (announced === undefined || announced === stored.sequence)) return
    // An authority that was restored from an old backup looks like this, and so does one that was replaced.
    if (stored !== undefined && announced !== undefined && announced < stored.sequence)
      return this.#refuse({ list: 'crl', reason: 'rollback', offered: announced, stored: stored.sequence })
    const list = (await this.#readDelta()) ?? (await client.crl.compact({ signal }))
    const reason = await this.#findProblem(list)
    if (reason !== undefined)
      return this.#refuse({
        list: 'crl',
        reason,
        offered: list.position.sequence,
        ...(stored === undefined ? {} : { stored: stored.sequence }),
      })
    // The same list; one that was signed again under its number to keep it fresh has another time.
    if (list.position.sequence === stored?.sequence && list.position.issuedAt === stored.issuedAt) return
    await this.#storeCrl(list)
    this.#crl = list
    // While a succession is undone the current key of before signs again; what it signed then says nothing now.
    this.#switchedTo = undefined
    await this.#noteSigner(list)
    settings.emit({ type: 'revocations', list: list.crl, count: list.count })
  }

  /**
   * The next list as a change of the held one, where the authority has it. Undefined when anything is wrong with it: the
   * full list decides then. Two lists that are signed under one number are not left to it: it may be the held one.
   */
  async #readDelta(): Promise<CompactCrl | undefined> {
    const { client, signal } = this.#parts
    const held = this.#crl
    if (held === undefined || held.signedBytes.length < DELTA_FROM_BYTES) return undefined
    try {
      const bytes = await client.crl.delta(held.crl.sequence, held.crl.issuer, { signal })
      const next = bytes && held.withDelta(bytes)
      if (next === undefined) return undefined
      const problem = await this.#findProblem(next)
      return problem === undefined || problem === 'equivocation' ? next : undefined
    } catch (error) {
      if (signal.aborted) throw error
      return undefined
    }
  }

  /** A list of the current key says that the switch is done: from then on proofs are made for it. */
  async #noteSigner(list: CompactCrl): Promise<void> {
    const { followed } = this.#parts
    const signer = (await list.isSignedBy([followed.current])) ? followed.current : followed.audience
    if (signer === followed.audience) return
    followed.address(signer)
    await followed.save()
  }

  async followPolicy({ policy_id: announced }: HeartbeatResponse): Promise<void> {
    const { client, followed, settings, signal, store } = this.#parts
    if (announced === undefined || announced === null || announced === this.#policy?.policy_id) return
    const policy = await client.policy.current({ signal })
    if (!(await verifyList(policy, followed.at(policy.issued_at))))
      return this.#refuse({ list: 'policy', reason: 'not_signed' })
    // The authority may bring an older version back, but signs it with its current key then.
    const isOfCurrent = await verifyList(policy, [followed.current])
    if (!isOfCurrent && (await this.#isPolicySwitched())) return this.#refuse({ list: 'policy', reason: 'rollback' })
    await store.write('policy', writeJson(policy))
    this.#policy = policy
    settings.emit({ type: 'policy', policy })
  }

  #refuse(refused: RefusedList): void {
    const report = JSON.stringify(refused)
    if (this.#reported === report) return
    this.#reported = report
    this.#parts.settings.emit({ type: 'list_refused', ...refused })
  }

  /** protocol/gateway 9.2: never backwards, and never two contents under one number. */
  async #findProblem(list: CompactCrl): Promise<RefusedList['reason'] | undefined> {
    const { followed } = this.#parts
    const keys = (await this.#isSwitched()) ? [followed.current] : followed.at(list.crl.issued_at)
    if (!(await list.isSignedBy(keys))) return 'not_signed'
    if (this.#crl === undefined) return undefined
    // Both keys are the authority's: after a succession its lists go on under the name of the new one.
    const stored = { ...this.#crl.position, issuer: list.position.issuer }
    const verdict = checkListAdvance(stored, list.position, this.#parts.clock())
    return verdict.ok ? undefined : verdict.reason
  }

  /** From its first list on the current key signs them all: what a former key still signs names its own certificates only. */
  async #isSwitched(): Promise<boolean> {
    const { current } = this.#parts.followed
    if (this.#switchedTo !== current && (await this.#crl?.isSignedBy([current])) === true) this.#switchedTo = current
    return this.#switchedTo === current
  }

  /** A key that is current again after an undone succession also signed before: only what it signed since then counts. */
  async #isPolicySwitched(): Promise<boolean> {
    if (await this.#isSwitched()) return true
    const { current, keys } = this.#parts.followed
    const since = instantOf(keys.genesis.network_authority.valid_from)
    const stored = this.#policy
    return stored !== undefined && instantOf(stored.issued_at) >= since && (await verifyList(stored, [current]))
  }

  async #storeCrl(list: CompactCrl): Promise<void> {
    const { store } = this.#parts
    if (store.writeBytes !== undefined) await store.writeBytes('crl', list.pieces)
    else await store.write('crl', fromUtf8(joinBytes(list.pieces)) ?? '')
  }

  /** A damaged copy is as good as none: the authority has the original. */
  async #readStoredCrl(): Promise<CompactCrl | undefined> {
    const { followed, store } = this.#parts
    const bytes = store.readBytes === undefined ? toBytes(await store.read('crl')) : await store.readBytes('crl')
    const stored = bytes && CompactCrl.read(bytes)
    return stored !== undefined && (await stored.isSignedBy(followed.at(stored.crl.issued_at))) ? stored : undefined
  }

  async #readStoredPolicy(): Promise<PolicyManifest | undefined> {
    const { followed, store } = this.#parts
    const text = await store.read('policy')
    if (text === undefined) return undefined
    try {
      // As long as it is: what was taken once is read again.
      const stored = readPolicyManifest(readJson(text, { maxDepth: 64, maxValues: text.length, maxNames: text.length }))
      return (await verifyList(stored, followed.at(stored.issued_at))) ? stored : undefined
    } catch {
      return undefined
    }
  }
}

function toBytes(text: string | undefined): Uint8Array | undefined {
  return text === undefined ? undefined : toUtf8(text)
}
