import { hasSecretMaterial, instantOf, readJson, writeInstant, writeJson } from '@chancery/protocol'
import type { BoundaryDecision, ExecutionEvidence, JsonObject } from '@chancery/protocol'
import { RequestError } from '../errors.ts'
import { systemClock } from '../http/system-clock.ts'
import { signingTimeOf } from '../trust/signing-time.ts'
import { sleep } from '../http/retry.ts'
import { askDecision } from './ask-decision.ts'
import type {
  ActionReport,
  AnsweredDecision,
  GovernedAction,
  GovernedActionOptions,
  GovernedResult,
} from './ask-decision.ts'
import { type GovernedRequest, type RequestFields, readRequestFields } from './decision.ts'
import { DecisionVerificationError, EvidenceNotStoredError, MetadataRefusedError } from './errors.ts'
import { EvidenceSender, type FlushReport } from './evidence-sender.ts'
import type { Outcome } from './chains.ts'
import type { Intent, OutboxEntry } from './outbox.ts'

/** A copy of the action at the start of its run: later changes by the caller have no effect. */
interface Run<Value> extends Omit<GovernedAction<Value>, 'request' | 'parameters'> {
  readonly id: string
  readonly request: RequestFields
  readonly parameters: JsonObject
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
  readonly #node: GovernedActionOptions['node']
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
      clock: () => signingTimeOf(clock()),
    }
    const { ask = 'operator', node } = options
    if (ask === 'node' && node === undefined) throw new RequestError("ask: 'node' needs the node that asks")
    this.#node = ask === 'node' ? node : undefined
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
  async run<Value>(action: GovernedAction<Value>): Promise<GovernedResult<Value>> {
    const parameters = readJson(writeJson(action.parameters ?? {})) as JsonObject
    // Checked first, because the store would refuse the evidence only after the action.
    if (hasSecretMaterial(parameters, null)) throw new MetadataRefusedError()
    const id = crypto.randomUUID()
    const run: Run<Value> = { ...action, id, parameters, request: this.#readRequest(action.request, id) }
    const answer = await this.#decide(run)
    const { decision, justification_proof: justification } = answer
    if (!decision.authorized) return { authorized: false, decision, justification }
    const { entry, value, failure, evidence } = await this.#perform(run, answer)
    const stored = await this.#submit(entry)
    if (failure !== undefined) throw failure.error
    return { authorized: true, decision, justification, value: value as Value, evidence, stored }
  }

  /** A node may send no attribute, so its context has only one id: that of the run. */
  #readRequest(request: GovernedRequest, id: string): RequestFields {
    if (this.#node !== undefined && (request.context?.context_id ?? '') !== '')
      throw new RequestError("with ask: 'node' the id of the context is that of the run")
    return readRequestFields(request, id)
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

  async #perform<Value>(run: Run<Value>, answer: AnsweredDecision): Promise<Performed<Value>> {
    const { decision } = answer
    const entry = await this.#begin(run, answer)
    try {
      this.#options.observe('intent-stored')
      const { outcome, ...done } = await this.#act(run, decision)
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
    return askDecision({ ...this.#options, node: this.#node, idempotencyKey }, { request, resource, expectations })
  }

  async #begin<Value>(run: Run<Value>, { decision, resourceHead }: AnsweredDecision): Promise<OutboxEntry> {
    const { clock, executor } = this.#options
    const { request, parameters, resource } = run
    const head = resource === undefined ? undefined : await resourceHead()
    const now = clock()
    // Reading the head took time. The action must begin inside the window, or its evidence is refused.
    if (now > instantOf(decision.decision_valid_until))
      throw new DecisionVerificationError('decision_expired', decision.decision_id)
    const begun = instantOf(decision.decision_made_at)
    const intent: Intent = {
      evidence_id: crypto.randomUUID(),
      decision_id: decision.decision_id,
      context_id: decision.context_id,
      agreement_id: decision.agreement_id,
      executor_sovereign_id: executor.sovereignId,
      executed_capability: request.requested_capability,
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
    run: Run<Value>,
    decision: BoundaryDecision,
  ): Promise<{ value?: Value; outcome: Outcome; failure?: { readonly error: unknown } }> {
    let said: ActionReport = {}
    try {
      const value = await run.run(decision, (report) => (said = report))
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
