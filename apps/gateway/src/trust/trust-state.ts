import { faultPoint } from '#faults'
import { toUtf8, writeInstant } from '@chancery/protocol'
import type { Clock, Ids, MaybePromise } from '@chancery/service-kit'
import { operatorEvent } from '../audit/request-audit.ts'
import { type FollowedKeys, type NetworkPolicy, type Policy, filePolicyOf } from '../policy/policy.ts'
import { KEYS_ROW } from '../state/checkpoints.ts'
import type { DurableState } from '../state/durable-state.ts'
import { type AcceptedList, NO_CHANGE } from './check-list.ts'
import { continueFollowing, withFollowed, writeFollowed } from './followed-keys.ts'
import type { LoadedLists } from './load-lists.ts'
import { type IssuerState, type TrustSnapshot, type UnreadList, assembleSnapshot, issuerKey } from './snapshot.ts'

/** The snapshot as requests use it: of this process, or followed from the supervisor. */
export interface CurrentTrust {
  readonly current: TrustSnapshot
  /** Resolves when `current` may be used. Undefined when it may be used now. */
  settled(): MaybePromise<void>
  /** Whether a message of the supervisor is recent enough to give answers. Undefined in a process without one. */
  readonly hasLease: boolean | undefined
}

/** Worker processes that answer by the snapshots of this one. */
export interface Followers {
  /** Resolves when every worker uses the next snapshot, or has ended. No worker uses the one before after that. */
  change(before: TrustSnapshot, next: TrustSnapshot): Promise<void>
}

export interface TrustStateParts {
  readonly followers?: Followers | undefined
  readonly state: DurableState | undefined
  readonly clock: Clock
  readonly ids: Ids
}

/**
 * Stores the current snapshot. A change is committed and synced before it becomes visible (protocol/gateway 9.4).
 * Changes run one after another, so that two lists of one issuer stay in order.
 */
export class TrustState implements CurrentTrust {
  readonly #parts: TrustStateParts
  #snapshot: TrustSnapshot
  #last: Promise<unknown> = Promise.resolve()

  private constructor(snapshot: TrustSnapshot, parts: TrustStateParts) {
    this.#snapshot = snapshot
    this.#parts = parts
  }

  static async open(policy: Policy, loaded: LoadedLists, parts: TrustStateParts): Promise<TrustState> {
    const book = new TrustState(assembleSnapshot(policy, loaded.issuers, 1), parts)
    await book.#keepAll(loaded)
    return book
  }

  get current(): TrustSnapshot {
    return this.#snapshot
  }

  settled(): undefined {
    return undefined
  }

  get hasLease(): undefined {
    return undefined
  }

  /** Runs work between two changes. */
  between<Value>(work: (current: TrustSnapshot) => Value): Promise<Value> {
    return this.#inTurn(async () => work(this.#snapshot))
  }

  /**
   * Replaces the policy and its lists: stored first, then visible at once. The lists are loaded inside the queue, so
   * that no list that arrives in between is lost.
   */
  replace(file: Policy, load: (policy: Policy, current: TrustSnapshot) => Promise<LoadedLists>): Promise<void> {
    return this.#inTurn(async () => {
      const { followed } = this.#snapshot.policy
      const policy = await continueFollowing(file, followed?.keys ?? new Map())
      const loaded = await load(policy, this.#snapshot)
      await this.#keepAll(loaded)
      await this.#publish(policy, loaded.issuers)
    })
  }

  /**
   * Uses other keys of one network: stored with their lists first, then visible at once. Returns false when the policy
   * changed since the keys were verified.
   */
  follow(
    before: NetworkPolicy,
    followed: FollowedKeys,
    load: (network: NetworkPolicy) => Promise<LoadedLists>,
  ): Promise<boolean> {
    return this.#inTurn(async () => {
      const { policy: current, issuers } = this.#snapshot
      const { name } = before
      if (current.networks.get(name) !== before) return false
      const policy = withFollowed(filePolicyOf(current), new Map(current.followed?.keys).set(name, followed))
      const network = policy.networks.get(name)
      if (network === undefined) return false
      const loaded = await load(network)
      await this.#keepAll(loaded)
      await this.#keepKeys(name, followed)
      const others = [...issuers].filter(([, { policy: issuer }]) => issuer.network !== name)
      await this.#publish(policy, new Map([...others, ...loaded.issuers]))
      return true
    })
  }

  /** Installs a newer list of one issuer. Returns false when the policy changed since the list was checked. */
  install(before: IssuerState, list: AcceptedList): Promise<boolean> {
    return this.#inTurn(async () => {
      const key = issuerKey(before.policy.network, before.policy.issuer)
      if (this.#snapshot.issuers.get(key) !== before) return false
      const floor = Math.max(before.floor, list.position.sequence)
      const { position, body, index } = list
      const unread =
        before.unread !== undefined && before.unread.sequence > position.sequence ? before.unread : undefined
      const issuerState = { ...before, position, body, index, floor, unread }
      await this.#keep(issuerState, list.withdrawnChange)
      await this.#publish(this.#snapshot.policy, new Map(this.#snapshot.issuers).set(key, issuerState))
      faultPoint('checkpoint-published')
      return true
    })
  }

  /**
   * Records a newer list that cannot be read. After its time limit the floor is that list, so the current list is below
   * the floor and its issuer is refused.
   */
  recordUnread(before: IssuerState, unread: UnreadList): Promise<boolean> {
    return this.#inTurn(async () => {
      const key = issuerKey(before.policy.network, before.policy.issuer)
      if (this.#snapshot.issuers.get(key) !== before) return false
      const isOver = this.#parts.clock.now() >= unread.refusedFrom
      const floor = isOver ? Math.max(before.floor, unread.sequence) : before.floor
      await this.#publish(this.#snapshot.policy, new Map(this.#snapshot.issuers).set(key, { ...before, unread, floor }))
      return isOver && floor > before.floor
    })
  }

  /**
   * Stores the proof of two lists with one sequence and marks the issuer. The first list stays in force
   * (protocol/gateway 9.2).
   */
  markSuspect(before: IssuerState, offered: Uint8Array): Promise<void> {
    return this.#inTurn(async () => {
      const { network, issuer } = before.policy
      const key = issuerKey(network, issuer)
      const issuerState = this.#snapshot.issuers.get(key)
      if (issuerState === undefined) return
      await this.#keepProof(issuerState, offered)
      await this.#publish(
        this.#snapshot.policy,
        new Map(this.#snapshot.issuers).set(key, { ...issuerState, isSuspect: true }),
      )
    })
  }

  async #keepProof({ policy, position: mark, body }: IssuerState, offered: Uint8Array): Promise<void> {
    const { state, clock } = this.#parts
    const { network, issuer } = policy
    const { sequence } = mark
    await state?.storeEquivocation({
      proof: { network, issuer, sequence, seen_at: writeInstant(clock.now()) },
      held: body,
      offered,
      event: operatorEvent('crl_equivocation', { network, issuer, list_sequence: sequence }, this.#parts),
    })
  }

  async #keepAll({ changes }: LoadedLists): Promise<void> {
    for (const { issuerState: standing, withdrawnChange } of changes) await this.#keep(standing, withdrawnChange)
  }

  async #keep({ policy, position: mark, body }: IssuerState, withdrawnChange: Uint8Array): Promise<void> {
    const { network, issuer } = policy
    const { sequence } = mark
    await this.#parts.state?.storeCheckpoint({
      checkpoint: { network, issuer, sequence, issued_at: writeInstant(mark.issuedAt), body },
      withdrawnChange,
      events: [operatorEvent('crl_installed', { network, issuer, list_sequence: sequence }, this.#parts)],
    })
  }

  async #keepKeys(network: string, followed: FollowedKeys): Promise<void> {
    const { former_keys, issued_at } = followed.keys.history
    const facts = { network, signing_key_id: followed.signing, key_ids: Object.keys(followed.issuers) }
    await this.#parts.state?.storeCheckpoint({
      checkpoint: {
        network,
        issuer: KEYS_ROW,
        sequence: former_keys.length,
        issued_at,
        body: toUtf8(writeFollowed(followed)),
      },
      withdrawnChange: toUtf8(NO_CHANGE),
      events: [operatorEvent('keys_followed', facts, this.#parts)],
    })
  }

  async #publish(policy: Policy, issuers: ReadonlyMap<string, IssuerState>): Promise<void> {
    const next = assembleSnapshot(policy, issuers, this.#snapshot.data.version + 1)
    await this.#parts.followers?.change(this.#snapshot, next)
    this.#snapshot = next
  }

  #inTurn<Value>(work: () => Promise<Value>): Promise<Value> {
    const run = this.#last.then(work)
    // The next change runs also after a failure. The caller of the failed change gets the error.
    this.#last = run.catch(() => undefined)
    return run
  }
}
