import { holdsSecretMaterial, instantOf, sha256Hex, writeInstant } from '@chancery/protocol'
import type { BoundaryDecision, ExecutionEvidence, Instant, JsonObject, JustificationProof } from '@chancery/protocol'
import type { EvaluateRequest } from '../areas/boundary.ts'
import { systemClock } from '../system-clock.ts'
import type { Client } from '../client.ts'
import { sleep } from '../retry.ts'
import { storedResourceHead } from './chains.ts'
import { requireDecision } from './decision.ts'
import type { Expectations } from './decision.ts'
import { DecisionVerificationError, EvidenceNotKeptError, MetadataRefusedError } from './errors.ts'
import { EvidenceKeeper } from './evidence-keeper.ts'
import type { Executor, FlushReport, KeeperStep, Outcome } from './evidence-keeper.ts'
import type { Intent, Outbox, OutboxEntry, ResourceStep } from './outbox.ts'

export interface GovernorOptions {
  /** With an operator that may evaluate. */
  readonly client: Client
  readonly executor: Executor
  /** Where evidence waits; a FileOutbox survives the process. */
  readonly outbox: Outbox
  readonly clock?: () => Instant
  /** False where evaluations go through a gateway, which forwards no idempotency key. */
  readonly nameTries?: boolean
  /** Told of every step, for traces. What it throws is thrown by `run`. */
  readonly observe?: (step: GovernedStep) => void
}

export type GovernedStep = 'decision-received' | 'decision-verified' | 'intent-kept' | 'action-done' | KeeperStep

/** What an action may say of itself; anything else it returns is only passed on. */
export interface ActionReport {
  readonly outcome?: 'success' | 'partial'
  /** Metadata, never a secret. */
  readonly detail?: string
}

export interface GovernedAction<Value> extends Expectations {
  readonly request: EvaluateRequest
  /** What is done, as metadata for the evidence. */
  readonly parameters?: JsonObject
  /** The resource whose history the evidence continues. */
  readonly resource?: { readonly id: string; readonly action: ResourceStep['resource_action'] }
  /** Done only on a verified ALLOW. */
  readonly run: (decision: BoundaryDecision, report: (said: ActionReport) => void) => Promise<Value>
}

export type GovernedResult<Value> =
  | { readonly authorized: false; readonly decision: BoundaryDecision; readonly justification: JustificationProof }
  | {
      readonly authorized: true
      readonly decision: BoundaryDecision
      readonly justification: JustificationProof
      readonly value: Value
      /** As kept; when another executor was quicker at the resource it is signed anew at its new place. */
      readonly evidence: ExecutionEvidence
      /** False: it waits in the outbox. */
      readonly stored: boolean
    }

const FLUSH_EVERY_MS = 5000

/**
 * Does things only when the authority allows them, and leaves signed evidence of everything it did.
 *
 * What is about to be done is written to the outbox before, and what was done after it, so that whatever moment a
 * process dies at, every action that was begun has exactly one record; one whose end nobody saw is told as `partial`.
 */
export class Governor {
  readonly #options: Required<
    Pick<GovernorOptions, 'client' | 'executor' | 'outbox' | 'clock' | 'observe' | 'nameTries'>
  >
  readonly #keeper: EvidenceKeeper
  readonly #stop = new AbortController()
  #loop: Promise<void> | undefined

  private constructor(options: GovernorOptions) {
    this.#options = { clock: systemClock, observe: () => undefined, nameTries: true, ...options }
    this.#keeper = new EvidenceKeeper(this.#options)
  }

  /** Opens, and writes the evidence of what an earlier process began and did not end. */
  static async open(options: GovernorOptions): Promise<Governor> {
    const governor = new Governor(options)
    await governor.#keeper.recover()
    return governor
  }

  /**
   * Evaluate, verify, act, keep, submit. A denial is a result. An error of the action is recorded as a failure and
   * thrown on. A submission that fails is no error: the evidence waits.
   */
  async run<Value>(action: GovernedAction<Value>): Promise<GovernedResult<Value>> {
    const parameters = action.parameters ?? {}
    // Before anything is asked for: afterwards the refusal of the store would come too late.
    if (holdsSecretMaterial(parameters, null)) throw new MetadataRefusedError()
    const { decision, justification_proof: justification } = await this.#decide(action)
    if (!decision.authorized) return { authorized: false, decision, justification }
    const entry = await this.#begin(action, decision, parameters)
    const { value, outcome, failure } = await this.#act(action, decision)
    this.#options.observe('action-done')
    const evidence = await this.#keep(entry, outcome)
    const { outbox } = this.#options
    await this.#keeper.flush()
    if (failure !== undefined) throw failure.error
    const stored = !(await outbox.list()).some(({ id }) => id === entry.id)
    return { authorized: true, decision, justification, value: value as Value, evidence, stored }
  }

  /** Submits what waits and is due; with `force`, also what is not due yet. */
  flush(options?: { readonly force?: boolean }): Promise<FlushReport> {
    return this.#keeper.flush(options)
  }

  /** Everything that waits, dead letters included. */
  pending(): Promise<readonly OutboxEntry[]> {
    return this.#options.outbox.list()
  }

  /** Puts dead letters back in line, after a person has mended their cause. */
  revive(): Promise<void> {
    return this.#keeper.revive()
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
      await this.#keeper.flush()
      await sleep(everyMs, this.#stop.signal).catch(() => undefined)
    }
  }

  async #decide<Value>(action: GovernedAction<Value>): Promise<{
    readonly decision: BoundaryDecision
    readonly justification_proof: JustificationProof
  }> {
    const { client, clock, observe } = this.#options
    const contextId = action.request.context?.context_id ?? crypto.randomUUID()
    const request = { ...action.request, context: { ...action.request.context, context_id: contextId } }
    // Named, so that a try whose answer was lost gives the same decision and not a second one.
    const named = this.#options.nameTries ? { idempotencyKey: `governed:${sha256Hex(contextId)}` } : {}
    const answer = await client.boundary.evaluate(request, named)
    observe('decision-received')
    await requireDecision(answer.decision, { request, contextId, now: clock() }, action)
    observe('decision-verified')
    return answer
  }

  async #begin<Value>(
    action: GovernedAction<Value>,
    decision: BoundaryDecision,
    parameters: JsonObject,
  ): Promise<OutboxEntry> {
    const { client, clock, executor, observe } = this.#options
    const { resource } = action
    const head = resource === undefined ? undefined : await storedResourceHead(client, resource.id)
    const now = clock()
    // Reading the head took time: what is begun must be begun inside the window, or its evidence is refused.
    if (now > instantOf(decision.decision_valid_until))
      throw new DecisionVerificationError('decision_expired', decision.decision_id)
    const begun = instantOf(decision.decision_made_at)
    const intent: Intent = {
      evidence_id: crypto.randomUUID(),
      decision_id: decision.decision_id,
      context_id: decision.context_id,
      agreement_id: decision.agreement_id,
      executor_sovereign_id: executor.sovereignId,
      executed_capability: action.request.requested_capability,
      execution_parameters: parameters,
      // A local clock a little behind would put the action before its decision.
      executed_at: writeInstant(now < begun ? begun : now),
      resource:
        resource === undefined || head === undefined
          ? null
          : { resource_id: resource.id, resource_action: resource.action, head },
    }
    const entry = await this.#keeper.begin(intent).catch((error: unknown) => {
      throw new EvidenceNotKeptError(false, intent, { cause: error })
    })
    observe('intent-kept')
    return entry
  }

  async #act<Value>(
    action: GovernedAction<Value>,
    decision: BoundaryDecision,
  ): Promise<{ value?: Value; outcome: Outcome; failure?: { readonly error: unknown } }> {
    let said: ActionReport = {}
    try {
      const value = await action.run(decision, (report) => (said = report))
      return { value, outcome: { outcome: said.outcome ?? 'success', outcome_detail: said.detail ?? null } }
    } catch (error) {
      // The name of an error is metadata; its message may hold anything.
      const name = error instanceof Error ? error.name : 'error'
      return { outcome: { outcome: 'failure', outcome_detail: said.detail ?? name }, failure: { error } }
    }
  }

  async #keep(entry: OutboxEntry, outcome: Outcome): Promise<ExecutionEvidence> {
    try {
      return await this.#keeper.finish(entry, outcome)
    } catch (error) {
      throw new EvidenceNotKeptError(true, { entry, outcome }, { cause: error })
    }
  }
}
