import {
  checkListAdvance,
  markOfList,
  readCrl,
  readInstant,
  readJson,
  readPolicyManifest,
  verifyList,
  writeJson,
} from '@chancery/protocol'
import type { Crl, CrlEntry, Instant, JsonValue, PolicyManifest } from '@chancery/protocol'
import type { HeartbeatAnswer } from '../areas/enrollment.ts'
import type { Client } from '../client.ts'
import type { FollowedKeys } from './followed.ts'
import type { NodeEmitter, RefusedList } from './events.ts'
import type { NodeDocument, NodeStore } from './store.ts'

export interface ListParts {
  readonly client: Client
  readonly store: NodeStore
  readonly followed: FollowedKeys
  readonly events: NodeEmitter
  readonly clock: () => Instant
  readonly signal: AbortSignal
}

/** Revocation list and policy as the authority has them, fetched only when a heartbeat says that they changed. */
export class NodeLists {
  readonly #parts: ListParts
  #crl: Crl | undefined
  #policy: PolicyManifest | undefined
  /** What was told last; the same is not told at every heartbeat. */
  #told = ''
  /** The current key that a held list was signed by. */
  #switchedTo: string | undefined

  private constructor(parts: ListParts) {
    this.#parts = parts
  }

  /** Goes on where an earlier run ended: a list of then still guards against an older one. */
  static async open(parts: ListParts): Promise<NodeLists> {
    const lists = new NodeLists(parts)
    lists.#crl = await lists.#kept('crl', readCrl)
    lists.#policy = await lists.#kept('policy', readPolicyManifest)
    // A run that was killed may have kept the list and not what it says of the key that signs.
    if (lists.#crl !== undefined) await lists.#noteSigner(lists.#crl)
    return lists
  }

  get crl(): Crl | undefined {
    return this.#crl
  }

  get policy(): PolicyManifest | undefined {
    return this.#policy
  }

  entryOf(certId: string): CrlEntry | undefined {
    return this.#crl?.revoked_certificates.find(({ certificate_id }) => certificate_id === certId)
  }

  async followCrl({ crl_sequence: told }: HeartbeatAnswer): Promise<void> {
    const { client, clock, events, signal, store } = this.#parts
    const held = this.#crl
    // A list at its end is asked for even when its number is the same: the authority signs it anew.
    const isFresh = held !== undefined && clock() < (readInstant(held.next_update) ?? 0n)
    if (held !== undefined && isFresh && (told === undefined || told === held.sequence)) return
    // An authority that was restored from an old backup looks like this, and so does one that was replaced.
    if (held !== undefined && told !== undefined && told < held.sequence)
      return this.#refuse({ list: 'crl', reason: 'rollback', offered: told, held: held.sequence })
    const crl = await client.crl.current({ signal })
    const reason = await this.#whyNot(crl)
    if (reason !== undefined)
      return this.#refuse({
        list: 'crl',
        reason,
        offered: crl.sequence,
        ...(held === undefined ? {} : { held: held.sequence }),
      })
    // The same list; one that was signed again under its number to keep it fresh has another time.
    if (crl.sequence === held?.sequence && crl.issued_at === held.issued_at) return
    await store.write('crl', writeJson(crl))
    this.#crl = crl
    // While a succession is undone the current key of before signs again; what it signed then says nothing now.
    this.#switchedTo = undefined
    await this.#noteSigner(crl)
    events.emit('crl', { crl })
  }

  /** A list of the current key says that the switch is done: from then on proofs are made for it. */
  async #noteSigner(crl: Crl): Promise<void> {
    const { followed } = this.#parts
    const signer = (await verifyList(crl, [followed.current])) ? followed.current : followed.audience
    if (signer === followed.audience) return
    followed.address(signer)
    await followed.keep()
  }

  async followPolicy({ policy_id: told }: HeartbeatAnswer): Promise<void> {
    const { client, events, followed, signal, store } = this.#parts
    if (told === undefined || told === null || told === this.#policy?.policy_id) return
    const policy = await client.policy.current({ signal })
    if (!(await verifyList(policy, followed.at(policy.issued_at))))
      return this.#refuse({ list: 'policy', reason: 'not_signed' })
    await store.write('policy', writeJson(policy))
    this.#policy = policy
    events.emit('policy', { policy })
  }

  #refuse(refused: RefusedList): void {
    const news = JSON.stringify(refused)
    if (this.#told === news) return
    this.#told = news
    this.#parts.events.emit('refused', refused)
  }

  /** protocol/gateway 9.2: never backwards, and never two contents under one number. */
  async #whyNot(crl: Crl): Promise<RefusedList['reason'] | undefined> {
    const { followed } = this.#parts
    const keys = (await this.#isSwitched()) ? [followed.current] : followed.at(crl.issued_at)
    if (!(await verifyList(crl, keys))) return 'not_signed'
    if (this.#crl === undefined) return undefined
    // Both keys are the authority's: after a succession its lists go on under the name of the new one.
    const held = { ...markOfList(this.#crl), issuer: crl.issuer }
    const verdict = checkListAdvance(held, markOfList(crl), this.#parts.clock())
    return verdict.ok ? undefined : verdict.reason
  }

  /** From its first list on the current key signs them all: what a former key still signs names its own certificates only. */
  async #isSwitched(): Promise<boolean> {
    const { current } = this.#parts.followed
    const isKnown = this.#crl === undefined || this.#switchedTo === current
    if (!isKnown && (await verifyList(this.#crl as Crl, [current]))) this.#switchedTo = current
    return this.#switchedTo === current
  }

  /** A damaged copy is as good as none: the authority has the original. */
  async #kept<Kept extends Crl | PolicyManifest>(
    document: NodeDocument,
    read: (value: JsonValue) => Kept,
  ): Promise<Kept | undefined> {
    const text = await this.#parts.store.read(document)
    if (text === undefined) return undefined
    try {
      // As long as it is: a list has as many values as it likes.
      const kept = read(readJson(text, { maxDepth: 64, maxValues: text.length, maxNames: text.length }))
      return (await verifyList(kept, this.#parts.followed.at(kept.issued_at))) ? kept : undefined
    } catch {
      return undefined
    }
  }
}
