import { certificateBytes, evaluateCertificate, sha256Hex, toTrustDecision } from '@chancery/protocol'
import type { Instant, JoinCertificate, NetworkTrust, TrustDecision } from '@chancery/protocol'
import type { Soon } from '@chancery/service-kit'

/** The policy all certificates of one request are judged by, and the one instant. */
export interface Bench {
  readonly networks: ReadonlyMap<string, NetworkTrust>
  readonly revision: string
  readonly now: Instant
}

/** At once on this platform: no request finds another's verification half done. */
export function judge(certificate: JoinCertificate, { networks, revision, now }: Bench): Soon<TrustDecision> {
  const network = certificate.network_name
  const facts = { network, policyRevision: revision, now }
  const judgement = evaluateCertificate(certificate, networks.get(network), now)
  if (judgement instanceof Promise) return judgement.then((judged) => toTrustDecision(judged, facts))
  return toTrustDecision(judgement, facts)
}

export function digestOfCertificate(certificate: JoinCertificate): string {
  return sha256Hex(certificateBytes(certificate))
}
