import type { Signer } from '@chancery/protocol'
import type { Outbox } from './outbox.ts'

/** Runs tasks one after the other, also after a failure. */
class OutboxQueue {
  #last: Promise<unknown> = Promise.resolve()

  take<Result>(work: () => Promise<Result>): Promise<Result> {
    const turn = this.#last.then(work)
    this.#last = turn.catch(() => undefined)
    return turn
  }
}

/** State shared by all senders of this process on one outbox: two at the same time would undo each other's changes. */
export interface SharedOutbox {
  /** Positions in chains are assigned one at a time. */
  readonly places: OutboxQueue
  /** Rounds of submissions. */
  readonly rounds: OutboxQueue
  /** By key id: a record is signed again only by the key that signed it. */
  readonly signers: Map<string, Signer>
}

const SHARED = new WeakMap<Outbox, SharedOutbox>()

export function sharedOf(outbox: Outbox): SharedOutbox {
  const known = SHARED.get(outbox)
  if (known !== undefined) return known
  const made: SharedOutbox = { places: new OutboxQueue(), rounds: new OutboxQueue(), signers: new Map() }
  SHARED.set(outbox, made)
  return made
}
