import type { ExecutionEvidence, JsonObject } from '@chancery/protocol'

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
export interface Outbox {
  /**
   * True when no other process can use this outbox while this one has it open. Then an action of another process
   * was interrupted, and is recorded so. Otherwise this cannot be detected, and such
   * an action stays until the caller calls {@link GovernedActionRunner.recover}.
   */
  readonly isExclusive?: boolean
  add(content: OutboxContent): Promise<OutboxEntry>
  /** Replaces the content of an id atomically. */
  update(entry: OutboxEntry): Promise<void>
  remove(id: string): Promise<void>
  /** Returns all entries, oldest first. */
  list(): Promise<readonly OutboxEntry[]>
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
}

/** Twelve digits, so that names sort like numbers. */
export function outboxId(sequence: number): string {
  return String(sequence).padStart(12, '0')
}
