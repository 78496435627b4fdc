import {
  CLOCK_TOLERANCE,
  certificateBytes,
  checkCertificate,
  evaluateCertificate,
  isAuthenticList,
  markOfList,
  sha256Hex,
  toTrustDecision,
} from '@chancery/protocol'
import type {
  Instant,
  JoinCertificate,
  KnownRevocation,
  NetworkTrust,
  RevocationList,
  TrustDecision,
} from '@chancery/protocol'
import type { BroughtMaterial } from './requests.ts'

/** The policy all certificates of one request are judged by, and the one instant. */
export interface Bench {
  readonly networks: ReadonlyMap<string, NetworkTrust>
  readonly revision: string
  readonly now: Instant
}

export async function judge(certificate: JoinCertificate, { networks, revision, now }: Bench): Promise<TrustDecision> {
  const network = certificate.network_name
  const judgement = await evaluateCertificate(certificate, networks.get(network), now)
  return toTrustDecision(judgement, { network, policyRevision: revision, now })
}

/** Development mode: the caller's own anchors and list. */
export async function judgeBrought(
  certificate: JoinCertificate,
  { anchors, list }: BroughtMaterial,
  now: Instant,
): Promise<TrustDecision> {
  const brought =
    list === undefined ? undefined : { ...markOfList(list), authentic: await isAuthenticList(list, anchors) }
  const trust = {
    anchors,
    skew: CLOCK_TOLERANCE,
    now,
    list: brought === undefined || list === undefined ? undefined : { ...brought, revocations: indexOf(list) },
  }
  const judgement = await checkCertificate(certificate, trust)
  return toTrustDecision(judgement, { network: certificate.network_name, policyRevision: null, now })
}

function indexOf(list: RevocationList): { find(id: string): KnownRevocation | undefined } {
  return {
    find: (id) => {
      const entry = list.revoked_certificates.find(({ certificate_id }) => certificate_id === id)
      return entry === undefined ? undefined : { reason: entry.reason, revoked_at: entry.revoked_at, withdrawn: false }
    },
  }
}

/** What the audit keeps of a decision: the verdict and the digest, nothing of the certificate itself. */
export function toAudited({ trusted, reasons }: TrustDecision): { trusted: boolean; reasons: readonly string[] } {
  return { trusted, reasons }
}

export function digestOfCertificate(certificate: JoinCertificate): string {
  return sha256Hex(certificateBytes(certificate))
}
