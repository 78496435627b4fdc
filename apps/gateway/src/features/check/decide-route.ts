import { GatewayRefusal } from '@chancery/contract'
import { type JsonObject, field, readOrUndefined } from '@chancery/protocol'
import { POLL_SECONDS, basisOf, decide, isDeciding, recordRefused } from '../decisions/index.ts'
import type { AskingCall, Question } from '../decisions/index.ts'
import type { CheckQuestion } from '../../policy/policy.ts'
import { APPROVAL_HEADERS, type CheckParts, type CheckedRequest } from './checked-request.ts'
import type { MatchedRoute } from './match-route.ts'
import { quotaNameOf } from '../../quota/quota.ts'
import type { CheckContext, ProvenNode } from './verify-caller.ts'

/** Asks the authority for the capability of a route. Returns the id of the decision; a denial is a refusal. */
export async function decideRoute(
  asks: CheckQuestion,
  { request, node, matched, check }: DecidedRequest,
  call: AskingCall,
  parts: CheckParts,
): Promise<string> {
  const network = check.trust.policy.networks.get(asks.network)
  if (network === undefined || !isDeciding(network)) throw new GatewayRefusal('decisions_not_configured')
  call.context.decision_network = network.name
  const basis = await basisOf(node, network, check.trust)
  if (basis === undefined) {
    recordRefused(call, 'subject_unknown')
    throw new GatewayRefusal('subject_unknown')
  }
  await countDecision(node, check, parts)
  const question: Question = {
    network,
    basis,
    capability: asks.capability,
    requester: undefined,
    parameters: { ...parametersOf(asks, matched), ...(matched.route.bindsBody ? { content_digest: node.digest } : {}) },
    attributes: {},
    proof: network.decisions.certificate === undefined ? undefined : callerProofOf(request, node),
    certificate: node.certificate,
    isCallerVerified: true,
    showsJustification: false,
    approval_id: approvalOf(request),
  }
  const decided = await decide(question, call, parts)
  if ('denied' in decided) throw new GatewayRefusal('certificate_untrusted')
  const { decision_id, authorized } = decided.decision
  const { waitsFor } = decided
  if (waitsFor !== undefined) {
    const { approval_id, state } = waitsFor
    throw new GatewayRefusal(
      'approval_required',
      { decision_id, approval_id, state },
      { retryAfterSeconds: POLL_SECONDS },
    )
  }
  if (!authorized) throw new GatewayRefusal('decision_denied', { decision_id })
  return decision_id
}

/**
 * The approval that the client names. The header needs no signature: an approval is for one request of one key, and any
 * other is denied.
 */
function approvalOf(request: CheckedRequest): string | undefined {
  const values = request.all(APPROVAL_HEADERS.id)
  if (values.length === 0) return undefined
  const id = readOrUndefined(() => field.uuid(values.length === 1 ? (values[0] ?? '') : '', ''))
  if (id === undefined) throw new GatewayRefusal('header_refused')
  return id
}

export interface DecidedRequest {
  readonly request: CheckedRequest
  readonly node: ProvenNode
  readonly matched: MatchedRoute
  readonly check: CheckContext
}

async function countDecision(
  { certificate }: ProvenNode,
  { policy }: CheckContext,
  { quota, metrics }: CheckParts,
): Promise<void> {
  const clientId = quotaNameOf(certificate.node_public_key)
  const result = await quota.claim({ clientId, kind: 'decisions', limit: policy.decisionsPerMinute, cost: 1 })
  if (result === undefined) return
  metrics.quotaDenied.increase()
  throw new GatewayRefusal('node_quota')
}

function parametersOf({ resource }: CheckQuestion, { params }: MatchedRoute): JsonObject {
  if (resource === undefined) return {}
  const id = resource.id.replaceAll(/\{([^{}]*)\}/g, (_all, name: string) => params[name] ?? '')
  const properties = Object.keys(params).length === 0 ? {} : { properties: { ...params } }
  return { resource: { type: resource.type, id, ...properties } }
}

/** The proof as received, for the authority of a relay (protocol/trust-operations: on_behalf_of). */
function callerProofOf({ method, target }: CheckedRequest, { relayed: headers }: ProvenNode): JsonObject {
  if (headers === undefined) throw new GatewayRefusal('proof_not_relayable')
  return {
    method,
    request_target: target,
    content_digest: headers['content-digest'],
    audience: headers['chancery-audience'],
    certificate: headers['chancery-certificate'],
    attestation: headers['chancery-attestation'] ?? null,
    signature_input: headers['signature-input'],
    signature: headers.signature,
  }
}
