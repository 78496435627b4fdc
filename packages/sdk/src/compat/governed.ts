import { hasSecretMaterial, writeInstant } from '@chancery/protocol'
import type { BoundaryDecision, ExecutionEvidence, Instant, JsonObject } from '@chancery/protocol'
import type { Client } from '../client.ts'
import { type Outcome, storedResourceHead } from '../governed/chains.ts'
import { EvidenceNotStoredError, METADATA_ONLY, requireMetadata } from '../governed/errors.ts'
import { EvidenceSender, type Executor } from '../governed/evidence-sender.ts'
import { GovernedActionRunner } from '../governed/action-runner.ts'
import type { ActionResult, GovernedAction, GovernedActionOptions } from '../governed/ask-decision.ts'
import { MemoryOutbox, type Outbox, type ResourceStep } from '../governed/outbox.ts'
import { systemClock } from '../http/system-clock.ts'

/**
 * Runs one governed action, from the decision to the evidence. For several actions, open one {@link
 * GovernedActionRunner}.
 */
export async function governedAction<Value>(
  action: GovernedAction<Value> & GovernedActionOptions,
): Promise<ActionResult<Value>> {
  return (await GovernedActionRunner.open(action)).run(action)
}

/** Returns why these parameters may not be in evidence; undefined when they may. */
export function metadataProblem(parameters: JsonObject, detail: string | null = null): string | undefined {
  return hasSecretMaterial(parameters, detail) ? METADATA_ONLY : undefined
}

/** Throws UsageError on what looks like a secret or is longer than 16 KiB. */
export function checkMetadataOnly(parameters: JsonObject, detail: string | null = null): void {
  requireMetadata(parameters, detail)
}

export interface RecorderOptions {
  readonly client: Client
  readonly executor: Executor
  readonly outbox?: Outbox
  readonly clock?: () => Instant
}

/** An action that was done on a decision. */
export interface DoneAction extends Partial<Outcome> {
  readonly decision: BoundaryDecision
  readonly capability: string
  readonly parameters?: JsonObject
  readonly resource?: { readonly id: string; readonly action: ResourceStep['resource_action'] }
  /** When it was done; by default now. */
  readonly executedAt?: Instant
}

/** Writes evidence of actions that another program governs: in the chains of decision and resource, stored and submitted. */
export class ExecutionRecorder {
  readonly #options: RecorderOptions
  readonly #sender: EvidenceSender

  constructor(options: RecorderOptions) {
    this.#options = options
    const { outbox = new MemoryOutbox(), clock = systemClock } = options
    this.#sender = new EvidenceSender({ ...options, outbox, clock, observe: () => undefined })
  }

  /** Returns the stored record; a failed submission is retried with the next one, or by {@link flush}. */
  async record(done: DoneAction): Promise<ExecutionEvidence> {
    const { decision, capability, parameters = {}, resource, outcome = 'success', outcome_detail = null } = done
    checkMetadataOnly(parameters, outcome_detail)
    const { client, executor, clock = systemClock } = this.#options
    const intent = {
      evidence_id: crypto.randomUUID(),
      decision_id: decision.decision_id,
      context_id: decision.context_id,
      agreement_id: decision.agreement_id,
      executor_sovereign_id: executor.sovereignId,
      executed_capability: capability,
      execution_parameters: parameters,
      executed_at: writeInstant(done.executedAt ?? clock()),
      resource:
        resource === undefined
          ? null
          : {
              resource_id: resource.id,
              resource_action: resource.action,
              head: await storedResourceHead(client, resource.id),
            },
    }
    const entry = await this.#sender.begin(intent).catch((error: unknown) => {
      throw new EvidenceNotStoredError(true, intent, { cause: error })
    })
    const record = await this.#sender.finish(entry, { outcome, outcome_detail })
    await this.#sender.flush()
    return record
  }

  flush(): ReturnType<EvidenceSender['flush']> {
    return this.#sender.flush()
  }
}
