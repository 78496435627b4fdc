import {
  authorityKeysAt,
  boundaryDecisionForm,
  contextDigest,
  justificationForm,
  readJson,
  readReceived,
  sha256Hex,
  signedBytes,
  verifyBoundaryDecision,
  verifyJustification,
  writeJson,
} from '@chancery/protocol'
import type {
  AgreementRecord,
  AppliedPolicy,
  Attestation,
  AttestationBinding,
  AuthorityKeys,
  BoundaryDecision,
  ContextRecord,
  DecisionExpectations,
  Instant,
  JsonObject,
} from '@chancery/protocol'
import type { BoundaryContext, EvaluateRequest, EvaluateResult } from '@chancery/contract'
import { notReliedUpon } from './errors.ts'
import { omitUndefined } from '../http/read-response.ts'

export type GovernedRequest = EvaluateRequest

/** A request of one run. Later changes by the caller have no effect on it. */
export type RequestFields = Omit<GovernedRequest, 'agreement' | 'context'> & {
  readonly agreement?: AgreementRecord
  readonly context: BoundaryContext & { readonly context_id: string; readonly attributes?: JsonObject }
}

/** The attribute of a context that contains the id of the run, when the caller named the context. */
export const RUN_ATTRIBUTE = 'governed_run'

/**
 * Returns the request of a new run. Its context contains a unique value: its id, or an attribute where the caller gave
 * an id. The authority signs its digest, so an earlier decision cannot be used for this run.
 */
export function readRequestFields(
  { agreement: given, context = {}, ...rest }: GovernedRequest,
  runId: string,
): RequestFields {
  const { context_id, attributes, ...more } = context
  const isNamed = context_id !== undefined && context_id !== null && context_id !== ''
  const named = isNamed
    ? { context_id, attributes: { ...attributes, [RUN_ATTRIBUTE]: runId } }
    : { context_id: runId, attributes }
  const agreement = typeof given === 'string' ? readJson(given) : given
  const request = omitUndefined({ ...rest, agreement, context: omitUndefined({ ...more, ...named }) })
  // As the authority reads it: there a number without a fraction is an integer.
  return readJson(writeJson(request)) as unknown as RequestFields
}

/** Returns the context that the authority must have built from the request (protocol/trust-operations 4.1). */
function contextOf(request: RequestFields, decision: BoundaryDecision): ContextRecord {
  const { agreement, attestation_id, requested_capability, context } = request
  const asked = {
    context_id: context.context_id,
    requested_capability,
    request_parameters: context.request_parameters ?? {},
    // The time of the decision, by the clock of the authority.
    requested_at: decision.decision_made_at,
    context_freshness_seq: context.context_freshness_seq ?? 0,
    attributes: context.attributes ?? {},
  }
  if (agreement !== undefined)
    return {
      ...asked,
      agreement_id: agreement.agreement_id,
      parent_kind: context.parent_kind ?? 'direct',
      requester_sovereign_id: agreement.responder_sovereign_id,
      provider_sovereign_id: agreement.offerer_sovereign_id,
    }
  const id = attestation_id ?? ''
  const subject = decision.attestation_binding?.subject_id ?? 'unknown'
  return {
    ...asked,
    agreement_id: id,
    attestation_id: id,
    parent_kind: 'attestation',
    requester_sovereign_id: context.requester_sovereign_id || subject,
    provider_sovereign_id: decision.operator_sovereign_id,
  }
}

/** Requirements of a caller before it acts on a decision. */
export interface Expectations {
  /** Public keys of the authority, pinned; or its genesis block and key history, such as `node.keys`. */
  readonly authorityKeys: readonly string[] | AuthorityKeys
  /**
   * The required policies, in their order; `none` where the network has no boundary policies. `any`: those that the
   * authority applied, for executors that leave the choice of policies to it.
   */
  readonly expectedPolicies: readonly Omit<AppliedPolicy, 'signed_by'>[] | 'none' | 'any'
  /** Required when the basis of the decision is an attestation. */
  readonly expectedAttestation?: Omit<AttestationBinding, 'revocation_seq_checked'>
}

/** An attestation as a decision names it: later decisions must have the basis that was reviewed once. */
export function pinAttestation(attestation: Attestation): Omit<AttestationBinding, 'revocation_seq_checked'> {
  const { attestation_id, subject_id, issuer_sovereign_id } = attestation
  return {
    attestation_id,
    subject_id,
    issuer_sovereign_id,
    attestation_digest: sha256Hex(signedBytes(attestation, 'signatures')),
  }
}

/** Verifies a decision offline: genuine, valid now, about this request, on the expected basis, and with its reasons. */
export async function requireDecision(
  { decision, justification_proof: justification }: EvaluateResult,
  asked: { readonly request: RequestFields; readonly now: Instant },
  expectations: Expectations,
): Promise<void> {
  const refuse = (reason: string): never => {
    throw notReliedUpon(reason, decision)
  }
  const { request, now } = asked
  const authorityKeys = keysOf(expectations, decision)
  await requireExpected(decision, now, expectations)
  // Another genuine decision of this authority is about another request.
  if (decision.context_id !== request.context.context_id) refuse('context_mismatch')
  if (decision.agreement_id !== (request.attestation_id ?? request.agreement?.agreement_id)) refuse('basis_mismatch')
  if (decision.policy_binding === undefined) return refuse('policy_binding_missing')
  // The digest covers capability, parameters and this run, so a decision for another or earlier request differs.
  if (decision.policy_binding.context_digest !== contextDigest(contextOf(request, decision)))
    refuse('context_digest_mismatch')
  const proof = readReceived(justificationForm, justification as unknown as JsonObject)
  const explained = await verifyJustification(proof, authorityKeys, decision)
  if (!explained.ok) refuse(`justification_${explained.reason}`)
}

/** Verifies that a decision is genuine and valid now, and that an authorized one has the expected basis and policies. */
export async function requireExpected(
  decision: BoundaryDecision,
  now: Instant,
  expectations: Expectations,
): Promise<void> {
  const refuse = (reason: string): never => {
    throw notReliedUpon(reason, decision)
  }
  const { expectedPolicies, expectedAttestation } = expectations
  // A denial permits nothing, so its basis need not be the expected one. It must still be genuine.
  const wanted: Pick<DecisionExpectations, 'policies' | 'attestation'> = decision.authorized
    ? {
        ...(typeof expectedPolicies === 'string' ? {} : { policies: expectedPolicies }),
        ...(expectedAttestation === undefined ? {} : { attestation: expectedAttestation }),
      }
    : {}
  const received = readReceived(boundaryDecisionForm, decision as unknown as JsonObject)
  const verdict = await verifyBoundaryDecision(received, { keys: keysOf(expectations, decision), now, ...wanted })
  if (!verdict.accepted) refuse(verdict.reason)
  const { authorized, policy_binding, attestation_binding } = decision
  if (!authorized) return
  if (attestation_binding !== undefined && expectedAttestation === undefined) refuse('attestation_not_pinned')
  if (expectedPolicies === 'none' && (policy_binding?.policies.length ?? 0) > 0) refuse('policy_binding_mismatch')
}

function keysOf({ authorityKeys: given }: Expectations, decision: BoundaryDecision): readonly string[] {
  return 'genesis' in given ? authorityKeysAt(given, decision.decision_made_at) : given
}
