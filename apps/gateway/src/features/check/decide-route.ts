import { GatewayRefusal } from '@chancery/contract'
import { type JsonObject, field, readOrUndefined, verifyList } from '@chancery/protocol'
import { POLL_SECONDS, decide, isDeciding, recordRefused } from '../decisions/index.ts'
import type { AskingCall, DecidingNetwork, Question } from '../decisions/index.ts'
import type { CheckQuestion } from '../../policy/policy.ts'
import { APPROVAL_HEADERS, type CheckParts, type CheckedRequest } from './checked-request.ts'
import type { MatchedRoute } from './match-route.ts'
import { type CheckContext, type ProvenNode, quotaNameOf } from './verify-caller.ts'

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
  const basis = await basisOf(node, network, check)
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

/**
 * The attestation of the proof, or the entry `node:<cert_id>` of the policy for a node of the network that decides. A
 * carried attestation is used only after its signature was verified: its id chooses what the authority decides on. One
 * of another network is presented: the authority checks it under its treaty with that network.
 */
async function basisOf(
  { certificate, attestation }: ProvenNode,
  network: DecidingNetwork,
  { trust }: CheckContext,
): Promise<Question['basis'] | undefined> {
  const isOwn = certificate.network_name === network.name
  if (attestation !== undefined) {
    // The issuer of an attestation is the network of the certificate (verifyCaller), which is trusted here.
    const issuer = trust.policy.networks.get(attestation.issuer_sovereign_id)
    if (issuer === undefined || !(await verifyList(attestation, Object.values(issuer.anchorTexts)))) return undefined
    if (isOwn) return { attestation_id: attestation.attestation_id }
    return { presented: { attestation, issuer_sovereign_id: attestation.issuer_sovereign_id } }
  }
  // Ids are unique per issuer, and the table names ids only.
  if (!isOwn || certificate.issued_by !== network.primary.issuer) return undefined
  const attestation_id = network.decisions.subjects.get(`node:${certificate.cert_id}`)
  return attestation_id === undefined ? undefined : { attestation_id }
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
