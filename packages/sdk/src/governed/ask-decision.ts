import type { BoundaryDecision, ExecutionEvidence, Instant, JsonObject, JustificationProof } from '@chancery/protocol'
import type { Client } from '../client.ts'
import { storedResourceHead } from './chains.ts'
import { requireDecision } from './decision.ts'
import type { Expectations, GovernedRequest, RequestFields } from './decision.ts'
import { type ChainHead, EMPTY_CHAIN, type Outbox, type ResourceStep } from './outbox.ts'
import type { Executor, SenderStep } from './evidence-sender.ts'

export interface GovernedActionOptions {
  /** Submits evidence; to ask for decisions itself it needs an operator that may evaluate. */
  readonly client: Pick<Client, 'evidence'> & Partial<Pick<Client, 'boundary'>>
  readonly executor: Executor
  /** Where evidence is stored until it is submitted; a FileOutbox survives the process. */
  readonly outbox: Outbox
  readonly clock?: () => Instant
  /** False where evaluations go through a gateway, which forwards no idempotency key. */
  readonly useIdempotencyKeys?: boolean
  /**
   * Called for failures outside an action: an outbox that cannot be read while evidence is submitted. It is retried;
   * nothing is lost.
   */
  readonly onError?: (error: unknown) => void
  /** Called at every step, for traces. What it throws is thrown by `run`. */
  readonly observe?: (step: GovernedStep) => void
}

export type GovernedStep = 'decision-received' | 'decision-verified' | 'intent-stored' | 'action-done' | SenderStep

/** Evidence fields that an action may return; other members are only returned to the caller. */
export interface ActionReport {
  /** `failure` for an action that returns its failure as a value; an action that throws failed, too. */
  readonly outcome?: 'success' | 'partial' | 'failure'
  /** Metadata, never a secret. */
  readonly detail?: string
}

export interface GovernedResource {
  readonly id: string
  readonly action: ResourceStep['resource_action']
}

export interface GovernedAction<Value> extends Expectations {
  readonly request: GovernedRequest
  /** What is done, as metadata for the evidence. */
  readonly parameters?: JsonObject
  /**
   * The resource whose chain the evidence continues. If another executor continued the chain since then, the record is signed again with the new head.
   */
  readonly resource?: GovernedResource
  /** Done only on a verified ALLOW. */
  readonly run: (decision: BoundaryDecision, report: (said: ActionReport) => void) => Promise<Value>
}

export type ActionResult<Value> =
  | { readonly allowed: false; readonly decision: BoundaryDecision; readonly justification: JustificationProof }
  | {
      readonly allowed: true
      readonly decision: BoundaryDecision
      readonly justification: JustificationProof
      readonly value: Value
      /**
       * The stored record. If another executor continued the chain of the resource first, it is signed again with its
       * new sequence.
       */
      readonly evidence: ExecutionEvidence
      /** False: it is still in the outbox. */
      readonly stored: boolean
    }

/** A verified decision, and the end of the chain that the evidence continues. */
export interface AnsweredDecision {
  readonly decision: BoundaryDecision
  readonly justification_proof: JustificationProof
  readonly resourceHead: () => Promise<ChainHead>
}

export interface Asking {
  readonly client: Pick<Client, 'boundary' | 'evidence'>
  readonly clock: () => Instant
  readonly observe: (step: 'decision-received' | 'decision-verified') => void
  /** Of this run. With it a retry after a lost response returns the same decision and not a second one. */
  readonly idempotencyKey: string | undefined
}

export interface Question {
  readonly request: RequestFields
  readonly resource: GovernedResource | undefined
  readonly expectations: Expectations
}

/** Asks as operator, and verifies the decision before it is used. */
export async function askDecision(
  asking: Asking,
  { request, resource, expectations }: Question,
): Promise<AnsweredDecision> {
  const { client, clock, observe, idempotencyKey } = asking
  const answer = await client.boundary.evaluate(request, idempotencyKey === undefined ? {} : { idempotencyKey })
  observe('decision-received')
  await requireDecision(answer, { request, now: clock() }, expectations)
  observe('decision-verified')
  const { decision, justification_proof } = answer
  const resourceHead = async (): Promise<ChainHead> =>
    resource === undefined ? EMPTY_CHAIN : storedResourceHead(client, resource.id)
  return { decision, justification_proof, resourceHead }
}
