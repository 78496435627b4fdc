import { assessAttestation, writeInstant } from '@chancery/protocol'
import type { AgreementBasis, AttestationBasis, ContextRecord, Instant, JsonValue } from '@chancery/protocol'
import type { OperatorCall } from '../../auth/operator.ts'
import type { Office } from '../../office.ts'
import { loadTrustedAgreement } from '../agreements/index.ts'
import { agreementContext, readContext, requireAgreedParties, requireParentKind, requireParty } from './context.ts'
import type { EvaluateRequest } from './requests.ts'

/** What a decision rests on, and the request as the authority understands it. */
export interface ResolvedBasis {
  readonly basis: AgreementBasis | AttestationBasis
  /** The context at the time of the decision, which is chosen once everything is loaded. */
  readonly contextAt: (now: Instant) => ContextRecord
}

/** The basis a request names. An agreement nobody can trust is refused; an attestation that cannot be used denies. */
export function resolveBasis(call: OperatorCall, office: Office, request: EvaluateRequest): Promise<ResolvedBasis> {
  const { asked, requested_capability } = request
  return asked.kind === 'agreement'
    ? onAgreement(call, office, asked.given, requested_capability)
    : onAttestation(call, office, asked.attestation_id, requested_capability)
}

async function onAgreement(
  call: OperatorCall,
  office: Office,
  given: JsonValue,
  requested_capability: string,
): Promise<ResolvedBasis> {
  const agreement = (await loadTrustedAgreement(call, office, given)).record
  const asked = readContext(call.body['context'])
  requireParentKind(asked, office)
  requireAgreedParties(asked, agreement)
  const context_id = office.ids.uuid()
  return {
    basis: { kind: 'agreement', terms: agreement.agreed_terms },
    contextAt: (now) => agreementContext({ asked, agreement, requested_capability, context_id, now }),
  }
}

async function onAttestation(
  call: OperatorCall,
  office: Office,
  attestation_id: string,
  requested_capability: string,
): Promise<ResolvedBasis> {
  const own = office.genesis.network_name
  const asked = readContext(call.body['context'])
  requireParty(asked.provider_sovereign_id, own, 'provider_sovereign_id')
  const standing = await office.standings.find(attestation_id)
  const { requester_sovereign_id: requester } = asked
  const basis = assessAttestation({ attestation_id, requester }, standing?.stored, standing?.checked)
  const context_id = asked.context_id ?? office.ids.uuid()
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
