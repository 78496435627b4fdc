import type { BoundaryDecision, Instant, JustificationProof } from '@chancery/protocol'
import type { NodeDecisionRequest } from '@chancery/contract'
import type { Client } from '../client.ts'
import { RequestError } from '../errors.ts'
import { requireNodeDecision } from '../node/ask.ts'
import type { GovernedActionOptions, GovernedResource } from './action.ts'
import { storedResourceHead } from './chains.ts'
import { type Expectations, requireDecision, requireExpected } from './decision.ts'
import { type ChainHead, EMPTY_CHAIN } from './outbox.ts'
import type { RequestFields } from './request-fields.ts'

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
