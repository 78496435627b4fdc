import { assessAttestation, writeInstant } from '@chancery/protocol'
import type { AgreementBasis, AttestationBasis, ContextRecord, Instant, JsonValue } from '@chancery/protocol'
import type { OperatorCall } from '../../auth/operator.ts'
import type { BoundaryParts } from './parts.ts'
import { agreementContext, readContext, requireAgreedParties, requireParentKind, requireParty } from './context.ts'
import type { EvaluateRequest } from './requests.ts'

/** The basis of a decision, and the request as the authority reads it. */
export interface ResolvedBasis {
  readonly basis: AgreementBasis | AttestationBasis
  /** Returns the context for the time of the decision, which is chosen after everything is loaded. */
  readonly contextAt: (now: Instant) => ContextRecord
}

/**
 * Loads the basis of a request. An agreement that is not trusted is refused. An attestation that cannot be used leads
 * to a denial.
 */
export function resolveBasis(
  call: OperatorCall,
  parts: BoundaryParts,
  request: EvaluateRequest,
): Promise<ResolvedBasis> {
  const { asked, requested_capability } = request
  return asked.kind === 'agreement'
    ? onAgreement(call, parts, asked.given, requested_capability)
    : onAttestation(call, parts, asked.attestation_id, requested_capability)
}

async function onAgreement(
  call: OperatorCall,
  parts: BoundaryParts,
  given: JsonValue,
  requested_capability: string,
): Promise<ResolvedBasis> {
  const agreement = (await parts.agreements.loadTrustedAgreement(call, given)).record
  const asked = readContext(call.body['context'])
  requireParentKind(asked, parts)
  requireAgreedParties(asked, agreement)
  const context_id = parts.ids.uuid()
  return {
    basis: { kind: 'agreement', terms: agreement.agreed_terms },
    contextAt: (now) => agreementContext({ asked, agreement, requested_capability, context_id, now }),
  }
}

async function onAttestation(
  call: OperatorCall,
  parts: BoundaryParts,
  attestation_id: string,
  requested_capability: string,
): Promise<ResolvedBasis> {
  const own = parts.network.name
  const asked = readContext(call.body['context'])
  requireParty(asked.provider_sovereign_id, own, 'provider_sovereign_id')
  const state = await parts.attestations.reader.find(attestation_id)
  const { requester_sovereign_id: requester } = asked
  const basis = assessAttestation({ attestation_id, requester }, state?.stored, state?.checked)
  const context_id = asked.context_id ?? parts.ids.uuid()
  return {
    basis,
    contextAt: (now) => ({
      context_id,
      agreement_id: attestation_id,
      parent_kind: 'attestation',
      requester_sovereign_id: basis.requester,
      provider_sovereign_id: own,
      requested_capability,
      request_parameters: asked.request_parameters,
      requested_at: writeInstant(now),
      context_freshness_seq: asked.context_freshness_seq,
      attributes: asked.attributes,
      attestation_id,
    }),
  }
}
