import { holdsSecretMaterial, instantOf, readJson, writeInstant, writeJson } from '@chancery/protocol'
import type { BoundaryDecision, ExecutionEvidence, JsonObject } from '@chancery/protocol'
import type { Evaluated } from '../areas/boundary.ts'
import { systemClock } from '../system-clock.ts'
import { momentOf } from '../moment.ts'
import { sleep } from '../retry.ts'
import type { ActionReport, GovernedAction, GovernedResult, GovernorOptions } from './action.ts'
import { askedRequest } from './asked-request.ts'
import type { AskedRequest } from './asked-request.ts'
import { storedResourceHead } from './chains.ts'
import { requireDecision } from './decision.ts'
import { DecisionVerificationError, EvidenceNotKeptError, MetadataRefusedError } from './errors.ts'
import { EvidenceKeeper } from './evidence-keeper.ts'
import type { Outcome } from './evidence-draft.ts'
import type { FlushReport } from './evidence-keeper.ts'
import type { Intent, OutboxEntry } from './outbox.ts'

/** An action as it was when its run began: what is checked is what is done and told, whatever the caller changes. */
interface Run<Value> extends Omit<GovernedAction<Value>, 'request' | 'parameters'> {
  readonly id: string
  readonly request: AskedRequest
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
 * What is about to be done is written to the outbox before, and what was done after it, so that whatever moment a
 * process dies at, every action that was begun has exactly one record; one whose end nobody saw is told as `partial`.
 */
export class Governor {
  readonly #options: Required<
    Pick<GovernorOptions, 'client' | 'executor' | 'outbox' | 'clock' | 'observe' | 'nameTries' | 'onError'>
  >
  readonly #keeper: EvidenceKeeper
  readonly #stop = new AbortController()
  #loop: Promise<void> | undefined

  private constructor(options: GovernorOptions) {
    const quiet = (): undefined => undefined
    const { clock = systemClock } = options
    const isNamed = options.nameTries ?? true
    this.#options = { observe: quiet, onError: quiet, ...options, nameTries: isNamed, clock: () => momentOf(clock()) }
    this.#keeper = new EvidenceKeeper(this.#options)
  }

  /**
   * Opens, and writes the evidence of what an earlier process began and did not end, where the outbox knows that it has
   * ended ({@link Outbox.isExclusive}). Several may be open on one outbox: none touches what another is doing.
   */
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
    const parameters = readJson(writeJson(action.parameters ?? {})) as JsonObject
    // Before anything is asked for: afterwards the refusal of the store would come too late.
    if (holdsSecretMaterial(parameters, null)) throw new MetadataRefusedError()
    const id = crypto.randomUUID()
    const run: Run<Value> = { ...action, id, parameters, request: askedRequest(action.request, id) }
    const { decision, justification_proof: justification } = await this.#decide(run)
    if (!decision.authorized) return { authorized: false, decision, justification }
    const { entry, value, failure, evidence } = await this.#perform(run, decision)
    const stored = await this.#submit(entry)
    if (failure !== undefined) throw failure.error
    return { authorized: true, decision, justification, value: value as Value, evidence, stored }
  }

  /**
   * Tells what is left in the outbox as interrupted, as {@link open} does. With `othersEnded` also what other processes
   * began: for a caller who knows that they have ended, with an outbox that does not.
   */
  recover(options?: { readonly othersEnded?: boolean }): Promise<number> {
    return this.#keeper.recover(options)
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
      await this.#keeper.flush().catch((error: unknown) => this.#tell(error))
      await sleep(everyMs, this.#stop.signal).catch(() => undefined)
    }
  }

  async #perform<Value>(run: Run<Value>, decision: BoundaryDecision): Promise<Performed<Value>> {
    const entry = await this.#begin(run, decision)
    try {
      this.#options.observe('intent-kept')
      const { outcome, ...done } = await this.#act(run, decision)
      this.#options.observe('action-done')
      return { entry, ...done, evidence: await this.#keep(entry, outcome) }
    } finally {
      this.#keeper.release(entry)
    }
  }

  /** Whether the authority has the evidence. It is kept already, so a failure here is none of the action. */
  async #submit(entry: OutboxEntry): Promise<boolean> {
    try {
      await this.#keeper.flush()
      return !(await this.#options.outbox.list()).some(({ id }) => id === entry.id)
    } catch (error) {
      this.#tell(error)
      return false
    }
  }

  /** A listener that fails must not end the submission of evidence. */
  #tell(error: unknown): void {
    try {
      this.#options.onError(error)
    } catch {
      // What was to be told is tried again all the same.
    }
  }

  async #decide<Value>({ id, request, ...expectations }: Run<Value>): Promise<Evaluated> {
    const { client, clock, observe } = this.#options
    // Named by this run, so that a try whose answer was lost gives the same decision and not a second one; a later run
    // asks for a decision of its own.
    const named = this.#options.nameTries ? { idempotencyKey: `governed:${id}` } : {}
    const answer = await client.boundary.evaluate(request, named)
    observe('decision-received')
    await requireDecision(answer, { request, now: clock() }, expectations)
    observe('decision-verified')
    return answer
  }

  async #begin<Value>(run: Run<Value>, decision: BoundaryDecision): Promise<OutboxEntry> {
    const { client, clock, executor } = this.#options
    const { request, parameters, resource } = run
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
      executed_capability: request.requested_capability,
      execution_parameters: parameters,
      // A local clock a little behind would put the action before its decision.
      executed_at: writeInstant(now < begun ? begun : now),
      resource:
        resource === undefined || head === undefined
          ? null
          : { resource_id: resource.id, resource_action: resource.action, head },
    }
    return this.#keeper.begin(intent).catch((error: unknown) => {
      throw new EvidenceNotKeptError(false, intent, { cause: error })
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
