import { executionEvidenceForm, readInstant, signForm, writeInstant } from '@chancery/protocol'
import type { ExecutionEvidence, Instant, Signer } from '@chancery/protocol'
import { RefusedError, UsageError } from '../errors.ts'
import { after } from '../node/schedule.ts'
import {
  digestOfRecord,
  draftEvidence,
  headsFor,
  pendingResourceHead,
  storedDecisionHead,
  storedResourceHead,
  withSequenceAfter,
} from './chains.ts'
import type { EvidenceClient, Heads, Outcome } from './chains.ts'
import { EMPTY_CHAIN, THIS_PROCESS, beginRun, endRun, isRunning, sharedOf } from './outbox.ts'
import type { ChainHead, Intent, Outbox, OutboxEntry, SharedOutbox } from './outbox.ts'

/** The executor: a key registered with the authority for it. */
export interface Executor {
  readonly signer: Signer
  readonly sovereignId: string
}

export interface SenderOptions {
  readonly client: EvidenceClient
  readonly executor: Executor
  readonly outbox: Outbox
  readonly clock: () => Instant
  readonly observe: (step: SenderStep) => void
}

export type SenderStep = 'evidence-signed' | 'evidence-stored' | 'evidence-submitted' | 'evidence-removed'

/** Result of one round of submissions. */
export interface FlushReport {
  readonly stored: number
  readonly waiting: number
  readonly deadLetters: number
}

type Waiting = Extract<OutboxEntry, { readonly state: 'pending' | 'dead_letter' }>

/** Another executor continued the chain first. The record was not stored, so it is signed again after that one. */
const CHAIN_CODES: ReadonlySet<string> = new Set([
  'evidence_conflict',
  'evidence_chain_gap',
  'evidence_chain_mismatch',
  'resource_chain_gap',
  'resource_chain_mismatch',
])

const FIRST_RETRY_SECONDS = 5
const LONGEST_RETRY_SECONDS = 900
/** Limit for one round: a writer that is always quicker must not block this one permanently. */
const MOST_REPAIRS = 3

export const INTERRUPTED = 'interrupted: the end of the action was not recorded, so its effect is not known'

/** Signs evidence, stores it durably and submits it to the authority. It never drops a stored record. */
export class EvidenceSender {
  readonly #parts: SenderOptions
  readonly #shared: SharedOutbox
  #flushing: Promise<FlushReport> | undefined
  #next: Promise<FlushReport> | undefined
  #isNextForced = false

  constructor(parts: SenderOptions) {
    this.#parts = parts
    this.#shared = sharedOf(parts.outbox)
    this.#shared.signers.set(parts.executor.signer.keyId, parts.executor.signer)
  }

  /** Stores the intent of an action. Until {@link finish} or {@link release} it counts as running. */
  async begin(intent: Intent): Promise<OutboxEntry> {
    // Before the outbox shows it, because another sender may search there for interrupted actions.
    beginRun(intent.evidence_id)
    try {
      return await this.#parts.outbox.add({ state: 'started', intent, owner: THIS_PROCESS })
    } catch (error) {
      endRun(intent.evidence_id)
      throw error
    }
  }

  /** Turns an intent into signed evidence after all queued records. */
  finish(entry: OutboxEntry, outcome: Outcome): Promise<ExecutionEvidence> {
    return this.#shared.places.take(() => this.#write(entry, outcome)).finally(() => this.release(entry))
  }

  /** The action has ended, whether or not its result could be stored. */
  release(entry: OutboxEntry): void {
    if (entry.state === 'started') endRun(entry.intent.evidence_id)
  }

  /**
   * Actions of this executor that were begun and not ended, by a process that has ended or by a run of this one that is
   * over: whether they took effect is not known, so the evidence says `partial`. What is under way is never touched, nor
   * what another process may still be doing.
   */
  recover(options: { readonly othersEnded?: boolean } = {}): Promise<number> {
    const { outbox, executor } = this.#parts
    const haveOthersEnded = outbox.isExclusive === true || options.othersEnded === true
    return this.#shared.places.take(async () => {
      const cutOff = (await outbox.list()).filter(
        (entry) =>
          entry.state === 'started' &&
          entry.intent.executor_sovereign_id === executor.sovereignId &&
          !isRunning(entry.intent.evidence_id) &&
          (entry.owner === THIS_PROCESS || haveOthersEnded),
      )
      for (const entry of cutOff) await this.#write(entry, { outcome: 'partial', outcome_detail: INTERRUPTED })
      return cutOff.length
    })
  }

  /** Stores a record that another program signed, and submits it like the others. */
  enqueue(record: ExecutionEvidence): Promise<OutboxEntry> {
    return this.#parts.outbox.add(waiting(record))
  }

  async pendingHead(resourceId: string): Promise<ChainHead | undefined> {
    return pendingResourceHead(await this.#parts.outbox.list(), resourceId)
  }

  /** Submits due records. Never throws for a failed submission: the record waits, or becomes a dead letter. */
  flush(options: { readonly force?: boolean } = {}): Promise<FlushReport> {
    // One round at a time. A call during a round waits for the next: its record may be too new for this one.
    if (this.#flushing !== undefined) {
      this.#isNextForced ||= options.force === true
      const next = (): Promise<FlushReport> => this.#flushNext()
      // Also after a round that failed: an outbox that could not be read once must not end all rounds.
      return (this.#next ??= this.#flushing.then(next, next))
    }
    this.#flushing = this.#shared.rounds
      .take(() => this.#flushOnce(options.force === true))
      .finally(() => {
        this.#flushing = undefined
      })
    return this.#flushing
  }

  /** Queues dead letters again. Call it after their cause is fixed. */
  async retryDeadLetters(): Promise<void> {
    for (const entry of await this.#parts.outbox.list())
      if (entry.state === 'dead_letter') await this.#parts.outbox.update({ id: entry.id, ...waiting(entry.record) })
  }

  #flushNext(): Promise<FlushReport> {
    const force = this.#isNextForced
    this.#next = undefined
    this.#isNextForced = false
    return this.flush({ force })
  }

  async #write(entry: OutboxEntry, outcome: Outcome): Promise<ExecutionEvidence> {
    if (entry.state !== 'started') throw new UsageError('the evidence of this action is written already')
    const record = await this.#sign(entry.intent, outcome)
    this.#parts.observe('evidence-signed')
    await this.#parts.outbox.update({ id: entry.id, ...waiting(record) })
    this.#parts.observe('evidence-stored')
    return record
  }

  async #flushOnce(isForced: boolean): Promise<FlushReport> {
    const now = this.#parts.clock()
    const blocked = new Set<string>()
    let stored = 0
    const due = (await this.#parts.outbox.list()).filter((entry): entry is Waiting => entry.state === 'pending')
    for (const entry of due.toSorted(byPosition)) {
      const { record, next_attempt_at } = entry
      const links = [
        `d ${record.decision_id}`,
        ...(record.resource_id === undefined ? [] : [`r ${record.resource_id}`]),
      ]
      const isDue = isForced || next_attempt_at === null || now >= (readInstant(next_attempt_at) ?? 0n)
      // A successor must not be submitted before its predecessor.
      const isStored = isDue && !links.some((link) => blocked.has(link)) && (await this.#submit(entry))
      if (isStored) stored += 1
      else for (const link of links) blocked.add(link)
    }
    const left = await this.#parts.outbox.list()
    const count = (state: OutboxEntry['state']): number => left.filter((entry) => entry.state === state).length
    return { stored, waiting: count('pending'), deadLetters: count('dead_letter') }
  }

  /** Returns true when the authority has the record. */
  async #submit(entry: Waiting): Promise<boolean> {
    let current = entry
    for (let repairs = 0; ; repairs += 1) {
      try {
        await this.#parts.client.evidence.execution({ evidence: current.record })
        this.#parts.observe('evidence-submitted')
        await this.#parts.outbox.remove(current.id)
        this.#parts.observe('evidence-removed')
        return true
      } catch (error) {
        const isChain = error instanceof RefusedError && CHAIN_CODES.has(error.code)
        const mended = isChain && repairs < MOST_REPAIRS ? await this.#rechain(current) : undefined
        if (mended === undefined) {
          await this.#storeFailure(current, error)
          return false
        }
        current = mended
      }
    }
  }

  /** Signs again after the stored ends of both chains; undefined when that changes nothing or is not possible now. */
  #rechain(entry: Waiting): Promise<Waiting | undefined> {
    return this.#shared.places.take(async () => {
      const { client, outbox } = this.#parts
      const { record } = entry
      // Without its key a record can be stored, but not signed again.
      const signer = this.#shared.signers.get(record.signature?.key_id ?? '')
      if (signer === undefined) return undefined
      try {
        const heads: Heads = {
          decision: await storedDecisionHead(client, record.decision_id),
          resource:
            record.resource_id === undefined ? EMPTY_CHAIN : await storedResourceHead(client, record.resource_id),
        }
        const signed = await signForm(executionEvidenceForm, withSequenceAfter(record, heads), signer)
        if (digestOfRecord(signed) === digestOfRecord(record)) return undefined
        const mended: Waiting = { ...entry, record: signed }
        await outbox.update(mended)
        return mended
      } catch {
        return undefined
      }
    })
  }

  async #storeFailure(entry: Waiting, error: unknown): Promise<void> {
    const { clock, outbox } = this.#parts
    const attempts = entry.attempts + 1
    const wait = Math.min(FIRST_RETRY_SECONDS * 2 ** Math.min(attempts - 1, 20), LONGEST_RETRY_SECONDS)
    const asked = error instanceof RefusedError ? (error.retryAfterSeconds ?? 0) : 0
    const isFinal = error instanceof RefusedError && [400, 409, 413, 422].includes(error.status)
    const changed: OutboxEntry = {
      ...entry,
      state: isFinal ? 'dead_letter' : 'pending',
      attempts,
      next_attempt_at: isFinal ? null : writeInstant(after(clock(), Math.max(wait, asked))),
      code: error instanceof RefusedError ? error.code : 'local_error',
    }
    // If the disk refuses this update, the record itself is still stored.
    await outbox.update(changed).catch(() => undefined)
  }

  async #sign(intent: Intent, outcome: Outcome): Promise<ExecutionEvidence> {
    const { executor, outbox } = this.#parts
    const draft = draftEvidence(intent, outcome, headsFor(intent, await outbox.list()))
    return signForm(executionEvidenceForm, draft, executor.signer)
  }
}

function waiting(record: ExecutionEvidence): Omit<Waiting, 'id'> {
  return { state: 'pending', record, attempts: 0, next_attempt_at: null, code: null }
}

/** Overlapping actions may end in another order than they began, so a record is submitted after its predecessor. */
function byPosition({ record: a }: Waiting, { record: b }: Waiting): number {
  return (a.resource_sequence ?? 0) - (b.resource_sequence ?? 0) || a.sequence_no - b.sequence_no
}
