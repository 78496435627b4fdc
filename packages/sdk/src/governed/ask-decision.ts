import type { BoundaryDecision, ExecutionEvidence, Instant, JsonObject, JustificationProof } from '@chancery/protocol'
import type { NodeDecisionRequest } from '@chancery/contract'
import type { Client } from '../client.ts'
import { RequestError } from '../errors.ts'
import { requireNodeDecision } from '../node/ask.ts'
import { storedResourceHead } from './chains.ts'
import { requireDecision, requireExpected } from './decision.ts'
import type { Expectations, GovernedRequest, RequestFields } from './decision.ts'
import { type ChainHead, EMPTY_CHAIN, type Outbox, type ResourceStep } from './outbox.ts'
import type { Executor, SenderStep } from './evidence-sender.ts'

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

/** A verified decision, and the end of the chain that the evidence continues. */
export interface AnsweredDecision {
  readonly decision: BoundaryDecision
  readonly justification_proof: JustificationProof
  readonly resourceHead: () => Promise<ChainHead>
}

export interface Asking {
  readonly client: Client
  /** Who asks with its own key; undefined for an operator. */
  readonly node: GovernedActionOptions['node']
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

/** Asks the authority, and verifies the decision before it is used. */
export function askDecision(asking: Asking, question: Question): Promise<AnsweredDecision> {
  return asking.node === undefined ? askAsOperator(asking, question) : askAsNode(asking, question, asking.node)
}

async function askAsOperator(asking: Asking, { request, resource, expectations }: Question): Promise<AnsweredDecision> {
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

async function askAsNode(
  { client, clock, observe, idempotencyKey }: Asking,
  { request: { agreement, ...asked }, resource, expectations }: Question,
  { certificate: { cert_id }, publicKey }: NonNullable<GovernedActionOptions['node']>,
): Promise<AnsweredDecision> {
  if (agreement !== undefined) throw new RequestError('a node asks on an attestation, not on an agreement')
  const request: NodeDecisionRequest = {
    ...asked,
    cert_id,
    ...(idempotencyKey === undefined ? {} : { idempotency_key: idempotencyKey }),
    ...(resource === undefined ? {} : { resource_id: resource.id }),
  }
  const response = await client.boundary.request(request)
  observe('decision-received')
  const { authorityKeys } = expectations
  await requireNodeDecision(response, { request, publicKey, authorityKeys, now: clock() })
  await requireExpected(response.decision, clock(), expectations)
  observe('decision-verified')
  const { decision, justification_proof, resource_head } = response
  const head = resource_head
    ? { sequence: resource_head.resource_sequence, digest: resource_head.record_digest }
    : EMPTY_CHAIN
  return { decision, justification_proof, resourceHead: () => Promise.resolve(head) }
}
