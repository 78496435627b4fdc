import { readJson, writeJson } from '@chancery/protocol'
import type { AgreementRecord, BoundaryDecision, ContextRecord, JsonObject } from '@chancery/protocol'
import type { BoundaryContext, EvaluateRequest, NodeDecisionRequest } from '@chancery/contract'
import { omitUndefined } from '../http/omit-undefined.ts'

/** With `ask: 'node'` on an attestation, and from a relay also on behalf of its caller: `callerBasis(caller)`. */
export type GovernedRequest = EvaluateRequest & Pick<NodeDecisionRequest, 'on_behalf_of'>

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
export function contextOf(request: RequestFields, decision: BoundaryDecision): ContextRecord {
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
