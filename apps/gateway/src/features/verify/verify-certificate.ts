import { certificateBytes, evaluateCertificate, sha256Hex, toTrustDecision } from '@chancery/protocol'
import type { Instant, JoinCertificate, NetworkTrust, TrustDecision } from '@chancery/protocol'
import type { MaybePromise } from '@chancery/service-kit'

/** The policy and the instant for all certificates of one request. */
export interface VerificationContext {
  readonly networks: ReadonlyMap<string, NetworkTrust>
  readonly revision: string
  readonly now: Instant
}

/** Verifies a certificate. On this platform it completes without waiting, so that requests do not interleave. */
export function verifyCertificate(
  certificate: JoinCertificate,
  { networks, revision, now }: VerificationContext,
): MaybePromise<TrustDecision> {
  const network = certificate.network_name
  const facts = { network, policyRevision: revision, now }
  const evaluation = evaluateCertificate(certificate, networks.get(network), now)
  if (evaluation instanceof Promise) return evaluation.then((evaluated) => toTrustDecision(evaluated, facts))
  return toTrustDecision(evaluation, facts)
}

export function digestOfCertificate(certificate: JoinCertificate): string {
  return sha256Hex(certificateBytes(certificate))
}
