import {
  assessAttestation,
  isCallerAssertion,
  recognitionAttribute,
  verifyCallerAssertion,
  verifyCallerProof,
  writeSortable,
} from '@chancery/protocol'
import type {
  AskedAttestation,
  AttestationBasis,
  BoundaryBasis,
  ContextRecord,
  Instant,
  JoinCertificate,
  JsonObject,
  JsonValue,
  PresentedBasis,
  ProvenCaller,
} from '@chancery/protocol'
import type { OperatorCall } from '../../auth/operator.ts'
import {
  agreementContext,
  attestationContext,
  readContext,
  refuseReservedAttributes,
  requireAgreedParties,
  requireParentKind,
  requireParty,
} from './context.ts'
import type { BoundaryParts, ContextRequest } from './context.ts'
import { type EvaluateRequest, type NodeRequest } from './requests.ts'
import { loadPresented } from '../presented/index.ts'
import { Refusal } from '@chancery/contract'
import { isKeyCompromised, whyUnusable } from '../enrollment/index.ts'

/** Refuses a certificate that cannot be used now: checks 6 to 12 of protocol/core 7. Returns its roles. */
export async function requireCertificate(
  parts: BoundaryParts,
  cert_id: string,
  node_public_key: string,
): Promise<readonly string[]> {
  const certificate = await parts.enrollment.findCertificate(cert_id)
  const reason = whyUnusable(certificate, node_public_key, writeSortable(parts.clock.now()))
  if (reason !== undefined || certificate === undefined) throw new Refusal(reason ?? 'certificate_not_found')
  return JSON.parse(certificate.roles_json) as string[]
}

/**
 * Verifies the proof that a relay received from its caller: of a request, or for a token. The authority does not rely on
 * the relay for who called. A certificate of another network is verified by the relay: the decision depends on the attestation and its key.
 */
export async function requireCaller(parts: BoundaryParts, { on_behalf_of, asked }: NodeRequest): Promise<ProvenCaller> {
  const attestation: AskedAttestation =
    asked.kind === 'presented' ? { presented: asked.attestation } : { attestation_id: asked.attestation_id }
  const given = on_behalf_of ?? null
  const verify = isCallerAssertion(given) ? verifyCallerAssertion : verifyCallerProof
  const verdict = await verify(given, { asked: attestation, now: parts.clock.now() })
  if (!verdict.ok) throw new Refusal('caller_proof_rejected', { reason: verdict.reason })
  const { certificate } = verdict.caller
  if (!(await isTrusted(parts, certificate, asked.kind === 'presented')))
    throw new Refusal('caller_proof_rejected', { reason: 'certificate_untrusted' })
  return verdict.caller
}

/**
 * A certificate of another network can be made by anyone. So it is no way around the state of an own key: an own
 * attestation needs an own certificate, a compromised key is refused, and the id of an own certificate is not repeated.
 */
async function isTrusted(parts: BoundaryParts, certificate: JoinCertificate, isPresented: boolean): Promise<boolean> {
  const { cert_id, node_public_key, network_name } = certificate
  const stored = await parts.enrollment.findCertificate(cert_id)
  if (network_name === parts.network.name)
    return whyUnusable(stored, node_public_key, writeSortable(parts.clock.now())) === undefined
  return isPresented && stored === undefined && !(await isKeyCompromised(parts.database.read, node_public_key))
}

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
