import type { BoundaryDecision, ExecutionEvidence, Instant, JsonObject, JustificationProof } from '@chancery/protocol'
import type { Client } from '../client.ts'
import type { Expectations } from './decision.ts'
import type { Executor, SenderStep } from './evidence-sender.ts'
import type { Outbox, ResourceStep } from './outbox.ts'
import type { GovernedRequest } from './request-fields.ts'

export interface GovernedActionOptions {
  /** A client with an operator that may evaluate; with `ask: 'node'` the client of a node, without an operator. */
  readonly client: Client
  /** Who asks for decisions; an operator when not given. */
  readonly ask?: 'operator' | 'node'
  /** With `ask: 'node'`: the node whose key the client has, such as a {@link Node}. */
  readonly node?: { readonly publicKey: string; readonly certificate: { readonly cert_id: string } }
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
   * The resource whose chain the evidence continues. With `ask: 'node'` the response of the decision has the head of
   * the chain. If another executor continued the chain since then, the record is signed again with the new head.
   */
  readonly resource?: GovernedResource
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
      /**
       * The stored record. If another executor continued the chain of the resource first, it is signed again with its
       * new sequence.
       */
      readonly evidence: ExecutionEvidence
      /** False: it is still in the outbox. */
      readonly stored: boolean
    }
