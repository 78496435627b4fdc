import { type Attestation, type JoinCertificate, verifyList } from '@chancery/protocol'
import type { TrustSnapshot } from '../../trust/snapshot.ts'
import type { DecidingNetwork, Question } from './decision-cache.ts'

/** A node that proved its key. Its certificate is trusted. */
export interface AskingNode {
  readonly certificate: JoinCertificate
  /** About the key of the node, and issued by its network. Its signature was not verified. */
  readonly attestation: Attestation | undefined
}

/**
 * The attestation that a node presents, or the entry `node:<cert_id>` of the policy for a node of the network that
 * decides. A presented attestation is used only after its signature was verified: its id chooses what the authority
 * decides on. One of another network is presented: the authority checks it under its treaty with that network.
 */
export async function basisOf(
  { certificate, attestation }: AskingNode,
  network: DecidingNetwork,
  { policy }: Pick<TrustSnapshot, 'policy'>,
): Promise<Question['basis'] | undefined> {
  const isOwn = certificate.network_name === network.name
  if (attestation !== undefined) {
    const issuer = policy.networks.get(attestation.issuer_sovereign_id)
    if (issuer === undefined || !(await verifyList(attestation, Object.values(issuer.anchorTexts)))) return undefined
    if (isOwn) return { attestation_id: attestation.attestation_id }
    return { presented: { attestation, issuer_sovereign_id: attestation.issuer_sovereign_id } }
  }
  // Ids are unique per issuer, and the table names ids only.
  if (!isOwn || certificate.issued_by !== network.primary.issuer) return undefined
  const attestation_id = network.decisions.subjects.get(`node:${certificate.cert_id}`)
  return attestation_id === undefined ? undefined : { attestation_id }
}
