import { assessAttestation, recognitionAttribute } from '@chancery/protocol'
import type {
  AttestationBasis,
  BoundaryBasis,
  ContextRecord,
  Instant,
  JsonObject,
  JsonValue,
  PresentedBasis,
} from '@chancery/protocol'
import type { OperatorCall } from '../../auth/operator.ts'
import type { BoundaryParts } from './parts.ts'
import {
  agreementContext,
  attestationContext,
  readContext,
  refuseReservedAttributes,
  requireAgreedParties,
  requireParentKind,
  requireParty,
} from './context.ts'
import type { ContextRequest } from './context.ts'
import { loadPresented } from './presented.ts'
import type { EvaluateRequest } from './requests.ts'

/** The basis of a decision, and the request as the authority reads it. */
export interface ResolvedBasis {
  readonly basis: BoundaryBasis
  /** Returns the context for the time of the decision, which is chosen after everything is loaded. */
  readonly contextAt: (now: Instant) => ContextRecord
}

/**
 * Loads the basis of a request. An agreement that is not trusted is refused. An attestation that cannot be used leads
 * to a denial.
 */
export async function resolveBasis(
  call: OperatorCall,
  parts: BoundaryParts,
  { asked, requested_capability }: EvaluateRequest,
): Promise<ResolvedBasis> {
  if (asked.kind === 'agreement') return onAgreement(call, parts, asked.given, requested_capability)
  const context = readAttributes(call.body)
  requireParty(context.provider_sovereign_id, parts.network.name, 'provider_sovereign_id')
  const { requester_sovereign_id: requester } = context
  if (asked.kind === 'presented')
    return onAttestation(parts, await loadPresented(parts, asked, requester), context, requested_capability)
  const { attestation_id } = asked
  const state = await parts.attestations.reader.find(attestation_id)
  const basis = assessAttestation({ attestation_id, requester }, state?.stored, state?.checked)
  return onAttestation(parts, basis, context, requested_capability)
}

function readAttributes(body: JsonObject): ContextRequest {
  const context = readContext(body['context'])
  refuseReservedAttributes(context)
  return context
}

async function onAgreement(
  call: OperatorCall,
  parts: BoundaryParts,
  given: JsonValue,
  requested_capability: string,
): Promise<ResolvedBasis> {
  const agreement = (await parts.agreements.loadTrustedAgreement(call, given)).record
  const asked = readAttributes(call.body)
  requireParentKind(asked, parts)
  requireAgreedParties(asked, agreement)
  const context_id = parts.ids.uuid()
  return {
    basis: { kind: 'agreement', terms: agreement.agreed_terms },
    contextAt: (now) => agreementContext({ asked, agreement, requested_capability, context_id, now }),
  }
}

/** The context of a decision on an attestation, with what the authority adds to the attributes. */
export function onAttestation(
  parts: BoundaryParts,
  basis: AttestationBasis | PresentedBasis,
  asked: ContextRequest,
  requested_capability: string,
  added: JsonObject = {},
): ResolvedBasis {
  const recognised = basis.kind === 'presented' ? { chancery_recognition: recognitionAttribute(basis) } : {}
  const facts = {
    requested_capability,
    context_id: parts.ids.uuid(),
    attributes: { ...asked.attributes, ...recognised, ...added },
  }
  return { basis, contextAt: (now) => attestationContext(asked, partiesOf(basis, parts.network.name), facts, now) }
}

/** The requester of a presented attestation is its issuer: a name that an own treaty states. */
function partiesOf(basis: AttestationBasis | PresentedBasis, own: string) {
  if (basis.kind === 'attestation') return { attestation_id: basis.attestation_id, requester: basis.requester, own }
  const { attestation_id, issuer_sovereign_id } = basis.attestation
  return { attestation_id, requester: issuer_sovereign_id, own }
}
