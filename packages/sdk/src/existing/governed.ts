import { holdsSecretMaterial, writeInstant } from '@chancery/protocol'
import type { BoundaryDecision, ExecutionEvidence, Instant, JsonObject } from '@chancery/protocol'
import type { Client } from '../client.ts'
import { storedResourceHead } from '../governed/chains.ts'
import { EvidenceNotKeptError, MetadataRefusedError } from '../governed/errors.ts'
import { EvidenceKeeper } from '../governed/evidence-keeper.ts'
import type { Outcome } from '../governed/evidence-draft.ts'
import type { Executor } from '../governed/evidence-keeper.ts'
import { Governor } from '../governed/governor.ts'
import type { GovernedAction, GovernedResult, GovernorOptions } from '../governed/action.ts'
import { MemoryOutbox } from '../governed/outbox.ts'
import type { Outbox, ResourceStep } from '../governed/outbox.ts'
import { systemClock } from '../system-clock.ts'

/** One governed action, from the question to the evidence. Who does several opens a {@link Governor} once. */
export async function governedAction<Value>(
  action: GovernedAction<Value> & GovernorOptions,
): Promise<GovernedResult<Value>> {
  return (await Governor.open(action)).run(action)
}

/** Why these parameters may not stand in evidence; undefined when they may. */
export function metadataProblem(parameters: JsonObject, detail: string | null = null): string | undefined {
  return holdsSecretMaterial(parameters, detail) ? new MetadataRefusedError().message : undefined
}

/** Throws {@link MetadataRefusedError} on what looks like a secret or is longer than 16 KiB. */
export function checkMetadataOnly(parameters: JsonObject, detail: string | null = null): void {
  if (holdsSecretMaterial(parameters, detail)) throw new MetadataRefusedError()
}

export interface RecorderOptions {
  readonly client: Client
  readonly executor: Executor
  readonly outbox?: Outbox
  readonly clock?: () => Instant
}

/** Something that was done on a decision. */
export interface DoneAction extends Partial<Outcome> {
  readonly decision: BoundaryDecision
  readonly capability: string
  readonly parameters?: JsonObject
  readonly resource?: { readonly id: string; readonly action: ResourceStep['resource_action'] }
  /** When it was done; now when not given. */
  readonly executedAt?: Instant
}

/** Writes evidence of actions that somebody else governs: in the chains of decision and resource, kept and submitted. */
export class ExecutionRecorder {
  readonly #options: RecorderOptions
  readonly #keeper: EvidenceKeeper

  constructor(options: RecorderOptions) {
    this.#options = options
    const { outbox = new MemoryOutbox(), clock = systemClock } = options
    this.#keeper = new EvidenceKeeper({ ...options, outbox, clock, observe: () => undefined })
  }

  /** The record as it is kept; a submission that fails is tried again with the next one, or by {@link flush}. */
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
    const entry = await this.#keeper.begin(intent).catch((error: unknown) => {
      throw new EvidenceNotKeptError(true, intent, { cause: error })
    })
    const record = await this.#keeper.finish(entry, { outcome, outcome_detail })
    await this.#keeper.flush()
    return record
  }

  flush(): ReturnType<EvidenceKeeper['flush']> {
    return this.#keeper.flush()
  }
}
