import { Refusal } from '@chancery/contract'
import { verifyCallerProof, writeSortable } from '@chancery/protocol'
import type { AskedAttestation, JoinCertificate, ProvenCaller } from '@chancery/protocol'
import type { BoundaryParts } from './parts.ts'
import { isKeyCompromised, whyUnusable } from '../enrollment/index.ts'
import type { NodeRequest } from './requests.ts'

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
 * Verifies the request proof that a relay received from its caller. The authority does not rely on the relay for who
 * called. A certificate of another network is verified by the relay: the decision depends on the attestation and its key.
 */
export async function requireCaller(parts: BoundaryParts, { on_behalf_of, asked }: NodeRequest): Promise<ProvenCaller> {
  const attestation: AskedAttestation =
    asked.kind === 'presented' ? { presented: asked.attestation } : { attestation_id: asked.attestation_id }
  const verdict = await verifyCallerProof(on_behalf_of ?? null, { asked: attestation, now: parts.clock.now() })
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
