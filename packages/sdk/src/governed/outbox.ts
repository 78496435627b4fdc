import type { ExecutionEvidence, JsonObject, Signer } from '@chancery/protocol'

/** Stored before an action begins: enough to write its evidence when the process ends early. */
export type Intent = {
  readonly evidence_id: string
  readonly decision_id: string
  readonly context_id: string
  readonly agreement_id: string
  readonly executor_sovereign_id: string
  readonly executed_capability: string
  readonly execution_parameters: JsonObject
  /** When the action began. This time is inside the window of its decision. */
  readonly executed_at: string
  readonly resource: ResourceStep | null
}

export type ResourceStep = {
  readonly resource_id: string
  readonly resource_action: 'create' | 'rotate' | 'revoke' | 'update' | 'delete'
  /** The head of the resource as the authority had it before the action. */
  readonly head: ChainHead
}

/** The end of a chain; sequence 0 and null for an empty one. */
export type ChainHead = { readonly sequence: number; readonly digest: string | null }

export const EMPTY_CHAIN: ChainHead = { sequence: 0, digest: null }

/**
 * started: the action runs or was interrupted. pending: signed, not yet submitted. dead_letter: the authority refuses
 * it permanently; an operator must check it.
 */
export type OutboxContent =
  | {
      readonly state: 'started'
      readonly intent: Intent
      /** The process that began it; absent in entries of earlier releases. */
      readonly owner?: string
    }
  | {
      readonly state: 'pending' | 'dead_letter'
      readonly record: ExecutionEvidence
      readonly attempts: number
      /** Earliest time of the next attempt; null: at once. */
      readonly next_attempt_at: string | null
      /** Why the last attempt failed: a code of the authority, or local_error. */
      readonly code: string | null
    }

export type OutboxEntry = OutboxContent & {
  /** Assigned by the outbox, in ascending order. */
  readonly id: string
}

/** Stores evidence until the authority has it. Each method is durable when it resolves. */
export interface Outbox extends AsyncDisposable {
  /**
   * True when no other process can use this outbox while this one has it open. Then an action of another process
   * was interrupted, and is recorded so. Otherwise this cannot be detected, and such
   * an action stays until the caller calls `recover`.
   */
  readonly isExclusive?: boolean
  add(content: OutboxContent): Promise<OutboxEntry>
  /** Replaces the content of an id atomically. */
  update(entry: OutboxEntry): Promise<void>
  remove(id: string): Promise<void>
  /** Returns all entries, oldest first. */
  list(): Promise<readonly OutboxEntry[]>
  close(): Promise<void>
}

/** For tests and for actions whose evidence may be lost with the process. */
export class MemoryOutbox implements Outbox {
  readonly isExclusive: boolean = true
  readonly #entries = new Map<string, OutboxEntry>()
  #last = 0

  add(content: OutboxContent): Promise<OutboxEntry> {
    this.#last += 1
    const entry = { ...content, id: outboxId(this.#last) }
    this.#entries.set(entry.id, entry)
    return Promise.resolve(entry)
  }

  update(entry: OutboxEntry): Promise<void> {
    this.#entries.set(entry.id, entry)
    return Promise.resolve()
  }

  remove(id: string): Promise<void> {
    this.#entries.delete(id)
    return Promise.resolve()
  }

  list(): Promise<readonly OutboxEntry[]> {
    return Promise.resolve([...this.#entries.values()])
  }

  close(): Promise<void> {
    return Promise.resolve()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

/** Twelve digits, so that names sort like numbers. */
export function outboxId(sequence: number): string {
  return String(sequence).padStart(12, '0')
}

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

/**
 * Running actions of this process, by the id of their evidence. Stored in the global object, not in this module: a program
 * may have loaded the library twice, and both copies need the list.
 */
const KEY = Symbol.for('@chancery/sdk: actions under way')
const running: Set<string> = ((globalThis as { [KEY]?: Set<string> })[KEY] ??= new Set())

/** This process among those that may use an outbox one after the other. */
export const THIS_PROCESS: string = crypto.randomUUID()

export function beginRun(evidenceId: string): void {
  running.add(evidenceId)
}

export function endRun(evidenceId: string): void {
  running.delete(evidenceId)
}

export function isRunning(evidenceId: string): boolean {
  return running.has(evidenceId)
}
