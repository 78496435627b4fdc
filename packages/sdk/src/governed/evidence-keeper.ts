import { executionEvidenceForm, holdsSecretMaterial, readInstant, signForm, writeInstant } from '@chancery/protocol'
import type { ExecutionEvidence, Instant, Signer } from '@chancery/protocol'
import type { Client } from '../client.ts'
import { ChanceryError, RefusedError } from '../errors.ts'
import { after } from '../node/schedule.ts'
import {
  digestOfRecord,
  laterHead,
  pendingDecisionHead,
  pendingResourceHead,
  storedDecisionHead,
  storedResourceHead,
} from './chains.ts'
import type { Heads } from './chains.ts'
import { EMPTY_CHAIN } from './outbox.ts'
import type { ChainHead, Intent, Outbox, OutboxEntry } from './outbox.ts'

/** Who did it: a key registered with the authority for this executor. */
export interface Executor {
  readonly signer: Signer
  readonly sovereignId: string
}

export interface KeeperParts {
  readonly client: Client
  readonly executor: Executor
  readonly outbox: Outbox
  readonly clock: () => Instant
  readonly observe: (step: KeeperStep) => void
}

export type KeeperStep = 'evidence-signed' | 'evidence-kept' | 'evidence-submitted' | 'evidence-removed'

export interface Outcome {
  readonly outcome: ExecutionEvidence['outcome']
  readonly outcome_detail: string | null
}

/** What one round of submissions came to. */
export interface FlushReport {
  readonly stored: number
  readonly waiting: number
  readonly deadLetters: number
}

type Waiting = Extract<OutboxEntry, { readonly state: 'pending' | 'dead_letter' }>

/** Somebody else continued the chain first. The record was not stored, so it is signed anew behind that one. */
const CHAIN_CODES: ReadonlySet<string> = new Set([
  'evidence_conflict',
  'evidence_chain_gap',
  'evidence_chain_mismatch',
  'resource_chain_gap',
  'resource_chain_mismatch',
])

const FIRST_RETRY_SECONDS = 5
const LONGEST_RETRY_SECONDS = 900
/** In one round; another writer that is always quicker must not hold this one for ever. */
const MOST_REPAIRS = 3

export const INTERRUPTED = 'interrupted: the process ended during the action, so its effect is not known'

/** Signs evidence, keeps it durably and brings it to the authority. Nothing it keeps is ever dropped. */
export class EvidenceKeeper {
  readonly #parts: KeeperParts
  /** Positions in chains are given out one at a time. */
  #queue: Promise<unknown> = Promise.resolve()
  #flushing: Promise<FlushReport> | undefined
  #next: Promise<FlushReport> | undefined

  constructor(parts: KeeperParts) {
    this.#parts = parts
  }

  begin(intent: Intent): Promise<OutboxEntry> {
    return this.#parts.outbox.add({ state: 'started', intent })
  }

  /** Turns what was begun into signed evidence behind everything that waits already. */
  finish(entry: OutboxEntry, outcome: Outcome): Promise<ExecutionEvidence> {
    return this.#alone(async () => {
      if (entry.state !== 'started') throw new ChanceryError('the evidence of this action is written already')
      const record = await this.#sign(entry.intent, outcome)
      this.#parts.observe('evidence-signed')
      await this.#parts.outbox.update({ id: entry.id, ...waiting(record) })
      this.#parts.observe('evidence-kept')
      return record
    })
  }

  /**
   * Actions that a process before this one began and did not end: whether they took effect is not known, so the
   * evidence says `partial`.
   */
  async recover(): Promise<number> {
    const cutOff = (await this.#parts.outbox.list()).filter(({ state }) => state === 'started')
    for (const entry of cutOff) await this.finish(entry, { outcome: 'partial', outcome_detail: INTERRUPTED })
    return cutOff.length
  }

  /** Keeps a record that somebody else signed, to be submitted like the others. */
  enqueue(record: ExecutionEvidence): Promise<OutboxEntry> {
    return this.#parts.outbox.add(waiting(record))
  }

  async pendingHead(resourceId: string): Promise<ChainHead | undefined> {
    return pendingResourceHead(await this.#parts.outbox.list(), resourceId)
  }

  /** Submits what is due. Never throws because of a submission: what fails waits, or is kept as a dead letter. */
  flush(options: { readonly force?: boolean } = {}): Promise<FlushReport> {
    // One round at a time. Whoever asks during a round waits for the next: its own record may be too new for this one.
    if (this.#flushing !== undefined) return (this.#next ??= this.#flushing.then(() => this.#flushNext(options)))
    this.#flushing = this.#flushOnce(options.force === true).finally(() => {
      this.#flushing = undefined
    })
    return this.#flushing
  }

  /** Puts dead letters back in line, after a person has mended their cause. */
  async revive(): Promise<void> {
    for (const entry of await this.#parts.outbox.list())
      if (entry.state === 'dead_letter') await this.#parts.outbox.update({ id: entry.id, ...waiting(entry.record) })
  }

  #flushNext(options: { readonly force?: boolean }): Promise<FlushReport> {
    this.#next = undefined
    return this.flush(options)
  }

  async #flushOnce(isForced: boolean): Promise<FlushReport> {
    const now = this.#parts.clock()
    const blocked = new Set<string>()
    let stored = 0
    for (const entry of await this.#parts.outbox.list()) {
      if (entry.state !== 'pending') continue
      const { record, next_attempt_at } = entry
      const links = [
        `d ${record.decision_id}`,
        ...(record.resource_id === undefined ? [] : [`r ${record.resource_id}`]),
      ]
      const isDue = isForced || next_attempt_at === null || now >= (readInstant(next_attempt_at) ?? 0n)
      // A successor must not overtake the record it follows.
      const isStored = isDue && !links.some((link) => blocked.has(link)) && (await this.#submit(entry))
      if (isStored) stored += 1
      else for (const link of links) blocked.add(link)
    }
    const left = await this.#parts.outbox.list()
    const count = (state: OutboxEntry['state']): number => left.filter((entry) => entry.state === state).length
    return { stored, waiting: count('pending'), deadLetters: count('dead_letter') }
  }

  /** True when the authority has the record. */
  async #submit(entry: Waiting): Promise<boolean> {
    let current = entry
    for (let repairs = 0; ; repairs += 1) {
      try {
        await this.#parts.client.evidence.submit(current.record)
        this.#parts.observe('evidence-submitted')
        await this.#parts.outbox.remove(current.id)
        this.#parts.observe('evidence-removed')
        return true
      } catch (error) {
        const isChain = error instanceof RefusedError && CHAIN_CODES.has(error.code)
        const mended = isChain && repairs < MOST_REPAIRS ? await this.#rechain(current) : undefined
        if (mended === undefined) {
          await this.#keepFailure(current, error)
          return false
        }
        current = mended
      }
    }
  }

  /** Signed anew behind the stored ends of both chains; undefined when that changes nothing or cannot be done now. */
  #rechain(entry: Waiting): Promise<Waiting | undefined> {
    return this.#alone(async () => {
      const { client, executor, outbox } = this.#parts
      const { record } = entry
      // A record of another key can be kept, but not signed anew.
      if (record.signature?.key_id !== executor.signer.keyId) return undefined
      try {
        const heads: Heads = {
          decision: await storedDecisionHead(client, record.decision_id),
          resource:
            record.resource_id === undefined ? EMPTY_CHAIN : await storedResourceHead(client, record.resource_id),
        }
        const signed = await signForm(executionEvidenceForm, placed(record, heads), executor.signer)
        if (digestOfRecord(signed) === digestOfRecord(record)) return undefined
        const mended: Waiting = { ...entry, record: signed }
        await outbox.update(mended)
        return mended
      } catch {
        return undefined
      }
    })
  }

  async #keepFailure(entry: Waiting, error: unknown): Promise<void> {
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
    // A disk that does not take the note still holds the record itself.
    await outbox.update(changed).catch(() => undefined)
  }

  async #sign(intent: Intent, { outcome, outcome_detail }: Outcome): Promise<ExecutionEvidence> {
    const { executor, outbox } = this.#parts
    const waitingNow = await outbox.list()
    const { resource, ...facts } = intent
    const heads: Heads = {
      decision: laterHead(EMPTY_CHAIN, pendingDecisionHead(waitingNow, intent.decision_id)),
      resource:
        resource === null
          ? EMPTY_CHAIN
          : laterHead(resource.head, pendingResourceHead(waitingNow, resource.resource_id)),
    }
    const draft: ExecutionEvidence = {
      ...facts,
      sequence_no: 1,
      outcome,
      // A text of the caller or of an error must not cost the record.
      outcome_detail: holdsSecretMaterial(intent.execution_parameters, outcome_detail) ? 'withheld' : outcome_detail,
      prev_evidence_digest: null,
      ...(resource === null
        ? {}
        : { resource_id: resource.resource_id, resource_action: resource.resource_action, resource_sequence: 1 }),
      signature: null,
    }
    return signForm(executionEvidenceForm, placed(draft, heads), executor.signer)
  }

  #alone<Result>(work: () => Promise<Result>): Promise<Result> {
    const turn = this.#queue.then(work)
    this.#queue = turn.catch(() => undefined)
    return turn
  }
}

function waiting(record: ExecutionEvidence): Omit<Waiting, 'id'> {
  return { state: 'pending', record, attempts: 0, next_attempt_at: null, code: null }
}

/** The record behind these heads, unsigned. */
function placed(record: ExecutionEvidence, { decision, resource }: Heads): ExecutionEvidence {
  const { prev_resource_digest: _old, ...rest } = record
  return {
    ...rest,
    sequence_no: decision.sequence + 1,
    prev_evidence_digest: decision.digest,
    ...(record.resource_id === undefined ? {} : { resource_sequence: resource.sequence + 1 }),
    ...(record.resource_id === undefined || resource.digest === null ? {} : { prev_resource_digest: resource.digest }),
    signature: null,
  }
}
