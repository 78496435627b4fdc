import { faultPoint } from '#faults'
import { writeInstant } from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import type { Clock, Ids } from '@chancery/service-kit'
import type { Policy } from '../policy/policy.ts'
import type { DurableState } from '../state/durable-state.ts'
import type { Established } from './establish.ts'
import type { AcceptedList } from './list-work.ts'
import { assembleSnapshot, standingKey } from './snapshot.ts'
import type { IssuerStanding, TrustSnapshot, UnreadList } from './snapshot.ts'

export interface TrustBookParts {
  readonly state: DurableState | undefined
  readonly clock: Clock
  readonly ids: Ids
}

/** Names an operator event for the audit; its id stays the same through every delivery. */
export function operatorEvent(
  event: string,
  facts: JsonObject,
  { clock, ids }: Pick<TrustBookParts, 'clock' | 'ids'>,
): JsonObject {
  return { event, event_id: `${event}:${ids.uuid()}`, ...facts, at: writeInstant(clock.now()) }
}

/**
 * The snapshot in force. What becomes visible has been committed and synced first (protocol/gateway 9.4); changes go
 * one after another, so that two lists of one issuer cannot pass each other.
 */
export class TrustBook {
  readonly #parts: TrustBookParts
  #snapshot: TrustSnapshot
  #last: Promise<unknown> = Promise.resolve()

  private constructor(snapshot: TrustSnapshot, parts: TrustBookParts) {
    this.#snapshot = snapshot
    this.#parts = parts
  }

  static async open(policy: Policy, established: Established, parts: TrustBookParts): Promise<TrustBook> {
    const book = new TrustBook(assembleSnapshot(policy, established.standings, 1), parts)
    await book.#keepAll(established)
    return book
  }

  get current(): TrustSnapshot {
    return this.#snapshot
  }

  /**
   * A whole new policy with the lists that belong to it; kept first, then visible at once. Which lists those are is
   * found out in turn, so that no list that arrives meanwhile is lost.
   */
  replace(policy: Policy, establish: (current: TrustSnapshot) => Promise<Established>): Promise<void> {
    return this.#inTurn(async () => {
      const established = await establish(this.#snapshot)
      await this.#keepAll(established)
      this.#publish(policy, established.standings)
    })
  }

  /** A newer list of one issuer. False when the policy changed meanwhile and the list was judged by the old one. */
  install(before: IssuerStanding, list: AcceptedList): Promise<boolean> {
    return this.#inTurn(async () => {
      const key = standingKey(before.policy.network, before.policy.issuer)
      if (this.#snapshot.standings.get(key) !== before) return false
      const floor = Math.max(before.floor, list.mark.sequence)
      const { mark, body, index } = list
      const unread = before.unread !== undefined && before.unread.sequence > mark.sequence ? before.unread : undefined
      const standing = { ...before, mark, body, index, floor, unread }
      await this.#keep(standing, list.stickyChange)
      this.#publish(this.#snapshot.policy, new Map(this.#snapshot.standings).set(key, standing))
      faultPoint('checkpoint-published')
      return true
    })
  }

  /**
   * Notes that there is a newer list which cannot be read. From its time on the floor is that list: the held one grants
   * nothing any more, by the rule for every list below the floor.
   */
  noteUnread(before: IssuerStanding, unread: UnreadList): Promise<boolean> {
    return this.#inTurn(async () => {
      const key = standingKey(before.policy.network, before.policy.issuer)
      if (this.#snapshot.standings.get(key) !== before) return false
      const isOver = this.#parts.clock.now() >= unread.refusedFrom
      const floor = isOver ? Math.max(before.floor, unread.sequence) : before.floor
      this.#publish(this.#snapshot.policy, new Map(this.#snapshot.standings).set(key, { ...before, unread, floor }))
      return isOver && floor > before.floor
    })
  }

  /** Keeps the proof of two histories and marks the issuer; the first list stays in force (protocol/gateway 9.2). */
  accuse(before: IssuerStanding, offered: Uint8Array): Promise<void> {
    return this.#inTurn(async () => {
      const { network, issuer } = before.policy
      const key = standingKey(network, issuer)
      const standing = this.#snapshot.standings.get(key)
      if (standing === undefined) return
      await this.#keepProof(standing, offered)
      this.#publish(this.#snapshot.policy, new Map(this.#snapshot.standings).set(key, { ...standing, isSuspect: true }))
    })
  }

  async #keepProof({ policy, mark, body }: IssuerStanding, offered: Uint8Array): Promise<void> {
    const { state, clock } = this.#parts
    const { network, issuer } = policy
    const { sequence } = mark
    await state?.keepEquivocation({
      proof: { network, issuer, sequence, seen_at: writeInstant(clock.now()) },
      held: body,
      offered,
      event: operatorEvent('crl_equivocation', { network, issuer, list_sequence: sequence }, this.#parts),
    })
  }

  async #keepAll({ changes }: Established): Promise<void> {
    for (const { standing, stickyChange } of changes) await this.#keep(standing, stickyChange)
  }

  async #keep({ policy, mark, body }: IssuerStanding, stickyChange: Uint8Array): Promise<void> {
    const { network, issuer } = policy
    const { sequence } = mark
    await this.#parts.state?.keepCheckpoint({
      checkpoint: { network, issuer, sequence, issued_at: writeInstant(mark.issuedAt), body },
      stickyChange,
      events: [operatorEvent('crl_installed', { network, issuer, list_sequence: sequence }, this.#parts)],
    })
  }

  #publish(policy: Policy, standings: ReadonlyMap<string, IssuerStanding>): void {
    this.#snapshot = assembleSnapshot(policy, standings, this.#snapshot.data.version + 1)
  }

  #inTurn<Value>(work: () => Promise<Value>): Promise<Value> {
    const run = this.#last.then(work)
    // The next one goes on whatever became of this one; its caller hears of the failure.
    this.#last = run.catch(() => undefined)
    return run
  }
}
