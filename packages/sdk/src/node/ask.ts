import {
  asJson,
  authorityKeysAt,
  boundaryDecisionForm,
  canonicalJson,
  certificateInAssertion,
  contextDigest,
  digestOf,
  justificationForm,
  readCarried,
  readJson,
  readJoinCertificate,
  readReceived,
  verifyBoundaryDecision,
  verifyJustification,
} from '@chancery/protocol'
import type { Attestation, AuthorityKeys, BoundaryDecision, Instant, JsonObject, JsonValue } from '@chancery/protocol'
import type { NodeDecision, NodeDecisionRequest, PresentedAttestation } from '@chancery/contract'
import { notReliedUpon } from '../governed/errors.ts'

/** What a node asks, besides the capability and its certificate. */
export type AskFields = Omit<NodeDecisionRequest, 'cert_id' | 'requested_capability'>

export interface AskedDecision {
  readonly request: NodeDecisionRequest
  /** The key that signed the request. For a relay the decision is about the key of its caller. */
  readonly publicKey: string
  /** Public keys of the authority, pinned; or its genesis block and key history. */
  readonly authorityKeys: readonly string[] | AuthorityKeys
  readonly now: Instant
}

/**
 * Verifies the response to a request for a decision: genuine, valid now, with its reasons, and about this key or this
 * caller, this capability, attestation and context. Throws {@link VerificationError}.
 */
export async function requireNodeDecision(response: NodeDecision, asked: AskedDecision): Promise<void> {
  const { decision, justification_proof: justification, context } = response
  const refuse = (reason: string): never => {
    throw notReliedUpon(reason, decision)
  }
  const { authorityKeys: given, request } = asked
  const keys = 'genesis' in given ? authorityKeysAt(given, decision.decision_made_at) : given
  const received = readReceived(boundaryDecisionForm, asJson(decision))
  const verdict = await verifyBoundaryDecision(received, { keys, now: asked.now })
  if (!verdict.accepted) refuse(verdict.reason)
  const explained = await verifyJustification(readReceived(justificationForm, asJson(justification)), keys, decision)
  if (!explained.ok) refuse(`justification_${explained.reason}`)
  if (decision.policy_binding?.context_digest !== contextDigest(context)) refuse('context_digest_mismatch')
  if (context.context_id !== decision.context_id || !isAskedContext(context, asked)) refuse('context_mismatch')
  if (!isAskedBasis(decision, request)) refuse('basis_mismatch')
}

/**
 * Gives the context a new id, so that an earlier decision on the same question is not taken for this one. With an
 * idempotency key the earlier one is asked for. An attestation of the own network is named by its id.
 */
export function nameRequest({ presented, ...options }: AskFields, own: string): AskFields {
  const { context, idempotency_key } = options
  const isNamed = (context?.context_id ?? '') !== '' || idempotency_key !== undefined
  const named = isNamed ? {} : { context: { ...context, context_id: crypto.randomUUID() } }
  if (presented === undefined) return { ...options, ...named }
  if (presented.issuer_sovereign_id !== own) return { ...options, ...named, presented }
  return { ...options, ...named, attestation_id: recordOf(presented).attestation_id }
}

/** The context is that of the request: nothing else was decided. */
function isAskedContext(context: NodeDecision['context'], asked: AskedDecision): boolean {
  const { requested_capability, context: named = {} } = asked.request
  const { chancery_request, chancery_recognition: _recognition, ...attributes } = context.attributes
  return (
    context.requested_capability === requested_capability &&
    (named.context_id === undefined || named.context_id === '' || context.context_id === named.context_id) &&
    context.context_freshness_seq === (named.context_freshness_seq ?? 0) &&
    isSame(context.request_parameters, named.request_parameters ?? {}) &&
    isSame(attributes, named.attributes ?? {}) &&
    isSame(chancery_request ?? null, requestAttribute(asked))
  )
}

/** What the authority states about the request: whom the decision is about, and who asked (trust-operations 4.12). */
function requestAttribute({ request, publicKey }: AskedDecision): JsonObject | null {
  const { on_behalf_of, cert_id = null } = request
  if (on_behalf_of === undefined) {
    const asked_by = cert_id === null ? 'partner_node' : 'node'
    return { asked_by, node_public_key: publicKey, cert_id, audience: null, relayed_by: null }
  }
  const { audience } = on_behalf_of
  const caller =
    'kind' in on_behalf_of
      ? certificateInAssertion(on_behalf_of.client_assertion)
      : readCarried(on_behalf_of.certificate, readJoinCertificate)
  if (caller === undefined) return null
  const { node_public_key, cert_id: caller_cert_id } = caller
  return { asked_by: 'relay', node_public_key, cert_id: caller_cert_id, audience, relayed_by: cert_id }
}

function isAskedBasis(
  { agreement_id, attestation_binding }: BoundaryDecision,
  { attestation_id, presented }: NodeDecisionRequest,
): boolean {
  const record = presented && recordOf(presented)
  const id = attestation_id ?? record?.attestation_id
  if (agreement_id !== id || attestation_binding?.attestation_id !== id) return false
  if (presented === undefined || record === undefined) return true
  const { signatures: _signatures, ...body } = record
  return (
    attestation_binding.issuer_sovereign_id === presented.issuer_sovereign_id &&
    attestation_binding.attestation_digest === digestOf(asJson(body))
  )
}

/** The record as it is sent, with the numbers as they are written. */
function recordOf({ attestation }: PresentedAttestation): Attestation {
  return typeof attestation === 'string' ? (readJson(attestation) as unknown as Attestation) : attestation
}

function isSame(one: JsonValue, other: JsonValue): boolean {
  return one !== null && other !== null && canonicalJson(one) === canonicalJson(other)
}
