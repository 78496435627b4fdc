import { GatewayRefusal } from '@chancery/contract'
import {
  FormError,
  asJson,
  boundaryDecisionForm,
  canonicalJson,
  contextDigest,
  contextRecordForm,
  digestOf,
  isJsonObject,
  justificationForm,
  readReceived,
  verifyBoundaryDecision,
  verifyJustification,
  waitingApproval,
} from '@chancery/protocol'
import type { Attestation, BoundaryDecision, ContextRecord, Instant, JsonObject, JsonValue } from '@chancery/protocol'
import { keysOf } from '../../policy/policy.ts'
import type { PresentedAttestation, Question, VerifiedDecision } from './decision-cache.ts'

/** The question as it was sent. */
export interface AskedQuestion {
  readonly question: Question
  readonly contextId: string
  readonly now: Instant
}

/**
 * Verifies the answer of an authority under the anchors of its network: genuine, valid now, with its reasons, of this
 * network, and about exactly this question. Throws 502 `decision_unverified`, so that nothing else is passed on.
 */
export async function verifyAnswer(answer: JsonObject, asked: AskedQuestion): Promise<VerifiedDecision> {
  try {
    return await verify(answer, asked)
  } catch (error) {
    if (error instanceof FormError) throw refusal('malformed', error)
    throw error
  }
}

async function verify(answer: JsonObject, asked: AskedQuestion): Promise<VerifiedDecision> {
  const { network } = asked.question
  const { decision: wire = null, justification_proof: justification = null } = answer
  if (!isJsonObject(wire) || !isJsonObject(justification)) throw refusal('malformed')
  const keys = [...keysOf(network, asked.now).values()]
  const received = readReceived(boundaryDecisionForm, wire)
  const decision = received.record
  const verdict = await verifyBoundaryDecision(received, { keys, now: asked.now })
  if (!verdict.accepted) throw refusal(verdict.reason)
  if (decision.operator_sovereign_id !== network.name) throw refusal('network_mismatch')
  const proof = readReceived(justificationForm, justification)
  const explained = await verifyJustification(proof, keys, decision)
  if (!explained.ok) throw refusal(`justification_${explained.reason}`)
  if (!isAskedBasis(decision, asked.question)) throw refusal('basis_mismatch')
  const context = contextOf(answer, decision, asked)
  if (decision.context_id !== asked.contextId) throw refusal('context_mismatch')
  if (decision.policy_binding?.context_digest !== contextDigest(context)) throw refusal('context_digest_mismatch')
  const waitsFor = decision.authorized ? undefined : waitingApproval(proof.record)
  return {
    decision,
    wire,
    justification,
    waitsFor,
    context: asJson(context),
    isStored: answer['decision_stored'] === true,
  }
}

function refusal(reason: string, cause?: Error): GatewayRefusal {
  return new GatewayRefusal('decision_unverified', { reason }, cause === undefined ? {} : { cause })
}

function isAskedBasis({ agreement_id, attestation_binding: binding }: BoundaryDecision, { basis }: Question): boolean {
  if ('agreement' in basis) return agreement_id === basis.agreement.agreement_id && binding === undefined
  if ('attestation_id' in basis)
    return agreement_id === basis.attestation_id && binding?.attestation_id === basis.attestation_id
  const { attestation, issuer_sovereign_id } = basis.presented
  return (
    agreement_id === attestation.attestation_id &&
    binding?.attestation_id === attestation.attestation_id &&
    binding.issuer_sovereign_id === issuer_sovereign_id &&
    binding.attestation_digest === digestOfAttestation(attestation)
  )
}

function digestOfAttestation({ signatures: _signatures, ...body }: Attestation): string {
  return digestOf(asJson(body))
}

/**
 * Returns the context that the authority must have built from the question (protocol/trust-operations 4.1). The decision
 * has only its digest, so a decision about another question differs.
 */
function contextOf(answer: JsonObject, decision: BoundaryDecision, asked: AskedQuestion): ContextRecord {
  const { question, contextId } = asked
  const { basis, network } = question
  const common = {
    context_id: contextId,
    requested_capability: question.capability,
    request_parameters: question.parameters,
    requested_at: decision.decision_made_at,
    context_freshness_seq: 0,
    attributes: { ...question.attributes, ...requestAttribute(question) },
  }
  if ('agreement' in basis) {
    const { agreement_id, responder_sovereign_id, offerer_sovereign_id } = basis.agreement
    const parties = { requester_sovereign_id: responder_sovereign_id, provider_sovereign_id: offerer_sovereign_id }
    return { ...common, ...parties, agreement_id, parent_kind: 'direct' }
  }
  const isPresented = 'presented' in basis
  const attestation_id = isPresented ? basis.presented.attestation.attestation_id : basis.attestation_id
  const requester = question.requester ?? decision.attestation_binding?.subject_id ?? 'unknown'
  const context: ContextRecord = {
    ...common,
    ...(isPresented ? { attributes: { ...common.attributes, ...recognitionOf(answer, basis.presented) } } : {}),
    agreement_id: attestation_id,
    attestation_id,
    parent_kind: 'attestation',
    requester_sovereign_id: isPresented ? basis.presented.issuer_sovereign_id : requester,
    provider_sovereign_id: network.name,
  }
  requireSameContext(answer['context'], context)
  return context
}

/**
 * What the authority states about the issuer of a presented attestation (protocol/trust-operations 4.11). Treaty and
 * feed are facts of the authority, so they are taken from its context, which the digest in the decision covers.
 */
function recognitionOf(answer: JsonObject, { attestation, issuer_sovereign_id }: PresentedAttestation): JsonObject {
  const { context = null } = answer
  const attributes = isJsonObject(context) ? (context['attributes'] ?? null) : null
  const chancery_recognition = isJsonObject(attributes) ? (attributes['chancery_recognition'] ?? null) : null
  if (
    !isJsonObject(chancery_recognition) ||
    chancery_recognition['issuer_sovereign_id'] !== issuer_sovereign_id ||
    chancery_recognition['attestation_digest'] !== digestOfAttestation(attestation)
  )
    throw refusal('recognition_mismatch')
  return { chancery_recognition }
}

/** A relay gets the context, too. It must be the one that the digest is compared with. */
function requireSameContext(given: JsonValue | undefined, context: ContextRecord): void {
  if (given === undefined || given === null) return
  const { record } = readReceived(contextRecordForm, given)
  if (canonicalJson(asJson(record)) !== canonicalJson(asJson(context))) throw refusal('context_mismatch')
}

/** What the authority states about a request of a node or a relay (protocol/trust-operations 4.12). */
function requestAttribute({ network, proof, certificate: caller }: Question): JsonObject {
  const { signer, certificate } = network.decisions
  if (certificate === undefined) return {}
  const { cert_id } = certificate
  if (proof === undefined) {
    const own = { node_public_key: signer.publicKey, cert_id, audience: null, relayed_by: null }
    return { chancery_request: { asked_by: 'node', ...own } }
  }
  if (caller === undefined) throw refusal('malformed')
  return {
    chancery_request: {
      asked_by: 'relay',
      node_public_key: caller.node_public_key,
      cert_id: caller.cert_id,
      audience: proof['audience'] ?? null,
      relayed_by: cert_id,
    },
  }
}
