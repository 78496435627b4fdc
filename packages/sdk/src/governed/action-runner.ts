import { instantOf, readJson, writeInstant, writeJson } from '@chancery/protocol'
import type { BoundaryDecision, ExecutionEvidence, JsonObject } from '@chancery/protocol'
import { UsageError } from '../errors.ts'
import { systemClock } from '../http/system-clock.ts'
import { timeOf } from '../trust/signing-time.ts'
import { sleep } from '../http/retry.ts'
import { askDecision } from './ask-decision.ts'
import type {
  ActionReport,
  ActionResult,
  AnsweredDecision,
  GovernedAction,
  GovernedActionOptions,
} from './ask-decision.ts'
import { type RequestFields, readRequestFields } from './decision.ts'
import { EvidenceNotStoredError, notReliedUpon, requireMetadata } from './errors.ts'
import { EvidenceSender, type FlushReport } from './evidence-sender.ts'
import type { Outcome } from './chains.ts'
import type { ChainHead, Intent, OutboxEntry } from './outbox.ts'

/** A copy of the action at the start of its run: later changes by the caller have no effect. */
interface Run<Value> extends Omit<GovernedAction<Value>, 'request' | 'parameters'> {
  readonly id: string
  readonly request: RequestFields
  readonly parameters: JsonObject
}

/** What a verified decision allows. */
export interface AllowedAction<Value> extends Pick<GovernedAction<Value>, 'resource' | 'run'> {
  readonly decision: BoundaryDecision
  readonly capability: string
  readonly parameters: JsonObject
  readonly resourceHead: () => Promise<ChainHead>
}

interface Performed<Value> {
  readonly entry: OutboxEntry
  readonly value?: Value
  readonly failure?: { readonly error: unknown }
  readonly evidence: ExecutionEvidence
}

const FLUSH_EVERY_MS = 5000

/**
 * Does things only when the authority allows them, and leaves signed evidence of everything it did.
 *
 * The intent is written to the outbox before the action, and the result after it. Whenever a
 * process dies, every started action has exactly one record; an action with an unknown end is recorded as `partial`.
 */
export class GovernedActionRunner {
  readonly #options: Required<
    Pick<
      GovernedActionOptions,
      'client' | 'executor' | 'outbox' | 'clock' | 'observe' | 'useIdempotencyKeys' | 'onError'
    >
  >
  readonly #sender: EvidenceSender
  readonly #stop = new AbortController()
  #loop: Promise<void> | undefined

  private constructor(options: GovernedActionOptions) {
    const quiet = (): undefined => undefined
    const { clock = systemClock } = options
    const isNamed = options.useIdempotencyKeys ?? true
    this.#options = {
      observe: quiet,
      onError: quiet,
      ...options,
      useIdempotencyKeys: isNamed,
      clock: () => timeOf(clock()),
    }
    this.#sender = new EvidenceSender(this.#options)
  }

  /**
   * Opens the runner, and writes evidence of interrupted actions of an earlier process, if the outbox can detect that
   * this process has ended ({@link Outbox.isExclusive}). Several runners may use one outbox; none changes running
   * actions of another.
   */
  static async open(options: GovernedActionOptions): Promise<GovernedActionRunner> {
    const governor = new GovernedActionRunner(options)
    await governor.#sender.recover()
    return governor
  }

  /**
   * Evaluates, verifies, acts, stores and submits. A denial is a result. An error of the action is recorded as a
   * failure, or as partial when it reported so, and thrown again. A failed submission is not an error: the evidence stays in the outbox.
   */
  async run<Value>(action: GovernedAction<Value>): Promise<ActionResult<Value>> {
    const parameters = readJson(writeJson(action.parameters ?? {})) as JsonObject
    // Checked first, because the store would refuse the evidence only after the action.
    requireMetadata(parameters)
    const id = crypto.randomUUID()
    const run: Run<Value> = { ...action, id, parameters, request: readRequestFields(action.request, id) }
    const answer = await this.#decide(run)
    const { decision, justification_proof: justification } = answer
    if (!decision.authorized) return { allowed: false, decision, justification }
    const { resource } = run
    const done = await this.perform({
      decision,
      capability: run.request.requested_capability,
      parameters,
      resourceHead: answer.resourceHead,
      run: run.run,
      ...(resource === undefined ? {} : { resource }),
    })
    return { allowed: true, decision, justification, ...done }
  }

  /** Does what a verified decision allows, then stores and submits the evidence. */
  async perform<Value>(
    action: AllowedAction<Value>,
  ): Promise<{ readonly value: Value; readonly evidence: ExecutionEvidence; readonly stored: boolean }> {
    const { entry, value, failure, evidence } = await this.#perform(action)
    const stored = await this.#submit(entry)
    if (failure !== undefined) throw failure.error
    return { value: value as Value, evidence, stored }
  }

  /**
   * Records actions left in the outbox as interrupted, as {@link open} does. With `othersEnded` also those of other
   * processes: use it when they have ended and the outbox cannot detect this.
   */
  recover(options?: { readonly othersEnded?: boolean }): Promise<number> {
    return this.#sender.recover(options)
  }

  /** Submits due records; with `force`, also records that are not due yet. */
  flush(options?: { readonly force?: boolean }): Promise<FlushReport> {
    return this.#sender.flush(options)
  }

  /** Returns all queued records, dead letters included. */
  pending(): Promise<readonly OutboxEntry[]> {
    return this.#options.outbox.list()
  }

  /** Queues dead letters again. Call it after their cause is fixed. */
  retryDeadLetters(): Promise<void> {
    return this.#sender.retryDeadLetters()
  }

  /** Submits in the background until {@link stop}. */
  start(everyMs: number = FLUSH_EVERY_MS): void {
    this.#loop ??= this.#flushForever(everyMs)
  }

  async stop(): Promise<void> {
    this.#stop.abort(new Error('stopped'))
    await this.#loop
  }

  async #flushForever(everyMs: number): Promise<void> {
    while (!this.#stop.signal.aborted) {
      await this.#sender.flush().catch((error: unknown) => this.#report(error))
      await sleep(everyMs, this.#stop.signal).catch(() => undefined)
    }
  }

  async #perform<Value>(action: AllowedAction<Value>): Promise<Performed<Value>> {
    const entry = await this.#begin(action)
    try {
      this.#options.observe('intent-stored')
      const { outcome, ...done } = await this.#act(action)
      this.#options.observe('action-done')
      return { entry, ...done, evidence: await this.#store(entry, outcome) }
    } finally {
      this.#sender.release(entry)
    }
  }

  /** Submits the evidence. It is already stored, so a failure here is not a failure of the action. */
  async #submit(entry: OutboxEntry): Promise<boolean> {
    try {
      await this.#sender.flush()
      return !(await this.#options.outbox.list()).some(({ id }) => id === entry.id)
    } catch (error) {
      this.#report(error)
      return false
    }
  }

  /** A listener that fails must not end the submission of evidence. */
  #report(error: unknown): void {
    try {
      this.#options.onError(error)
    } catch {
      // The evidence is still submitted again later.
    }
  }

  #decide<Value>({ id, request, resource, ...expectations }: Run<Value>): Promise<AnsweredDecision> {
    // The key is of this run. A later run requests a new decision.
    const idempotencyKey = this.#options.useIdempotencyKeys ? `governed:${id}` : undefined
    const { boundary, evidence } = this.#options.client
    if (boundary === undefined) throw new UsageError('a runner that asks for decisions needs a client of an operator')
    const client = { boundary, evidence }
    return askDecision({ ...this.#options, client, idempotencyKey }, { request, resource, expectations })
  }

  async #begin<Value>(action: AllowedAction<Value>): Promise<OutboxEntry> {
    const { clock, executor } = this.#options
    const { capability, decision, parameters, resource, resourceHead } = action
    const head = resource === undefined ? undefined : await resourceHead()
    const now = clock()
    // Reading the head took time. The action must begin inside the window, or its evidence is refused.
    if (now > instantOf(decision.decision_valid_until)) throw notReliedUpon('decision_expired', decision)
    const begun = instantOf(decision.decision_made_at)
    const intent: Intent = {
      evidence_id: crypto.randomUUID(),
      decision_id: decision.decision_id,
      context_id: decision.context_id,
      agreement_id: decision.agreement_id,
      executor_sovereign_id: executor.sovereignId,
      executed_capability: capability,
      execution_parameters: parameters,
      // A local clock that is slightly behind would date the action before its decision.
      executed_at: writeInstant(now < begun ? begun : now),
      resource:
        resource === undefined || head === undefined
          ? null
          : { resource_id: resource.id, resource_action: resource.action, head },
    }
    return this.#sender.begin(intent).catch((error: unknown) => {
      throw new EvidenceNotStoredError(false, intent, { cause: error })
    })
  }

  async #act<Value>(
    action: AllowedAction<Value>,
  ): Promise<{ value?: Value; outcome: Outcome; failure?: { readonly error: unknown } }> {
    let said: ActionReport = {}
    try {
      const value = await action.run(action.decision, (report) => (said = report))
      return { value, outcome: { outcome: said.outcome ?? 'success', outcome_detail: said.detail ?? null } }
    } catch (error) {
      // The name of an error is metadata; its message may contain anything.
      const name = error instanceof Error ? error.name : 'error'
      // An action that reported partial may have had an effect.
      const outcome = said.outcome === 'partial' ? 'partial' : 'failure'
      return { outcome: { outcome, outcome_detail: said.detail ?? name }, failure: { error } }
    }
  }

  async #store(entry: OutboxEntry, outcome: Outcome): Promise<ExecutionEvidence> {
    try {
      return await this.#sender.finish(entry, outcome)
    } catch (error) {
      throw new EvidenceNotStoredError(true, { entry, outcome }, { cause: error })
    }
  }
}
