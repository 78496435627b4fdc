import { type Finding, type JoinCertificate, type PolicyCause, type TrustDecision, instantOf } from '@chancery/protocol'
import type { Time } from './signing-time.ts'

/** Why a certificate is not trusted, as one flat list. */
export type TrustReason = Exclude<Finding['code'], 'network_policy_rejected'> | PolicyCause

/** Whether a certificate is trusted. */
export type CertificateVerdict =
  | {
      readonly trusted: true
      readonly network: string
      readonly certificate: JoinCertificate
      /** Evaluate it again after this time; undefined: nothing says when. */
      readonly recheckAfter: Date | undefined
      /** As a gateway gives it, with the list that was used. */
      readonly decision?: TrustDecision
    }
  | {
      readonly trusted: false
      readonly network: string | undefined
      readonly reasons: readonly [TrustReason, ...TrustReason[]]
      /** refuse: the certificate is bad. unavailable: this service lacks a current list, so it does not know. */
      readonly cause: 'refuse' | 'unavailable'
      readonly decision?: TrustDecision
    }

/** Anything that verifies certificates: `trustNetworks()`, a gateway client, a RelyingParty. */
export interface CertificateTrust {
  evaluate(certificate: JoinCertificate, at?: Time): Promise<CertificateVerdict>
}

/** These say something of the list of this service, and nothing of the certificate. */
const OF_THE_LIST: ReadonlySet<TrustReason> = new Set([
  'crl_below_floor',
  'crl_stale',
  'crl_too_old',
  'stale_revocation_list',
  'untrusted_revocation_list',
])

/** `presented` is undefined for a malformed certificate. */
export function toVerdict(decision: TrustDecision, presented: JoinCertificate | undefined): CertificateVerdict {
  const network = presented?.network_name
  if (decision.trusted && presented !== undefined) {
    const { recheck_after } = decision.evaluation
    const recheckAfter = recheck_after === null ? undefined : new Date(Number(instantOf(recheck_after) / 1000n))
    return { trusted: true, network: presented.network_name, certificate: presented, recheckAfter, decision }
  }
  const found = decision.findings.flatMap((finding): readonly TrustReason[] =>
    finding.code === 'network_policy_rejected' ? finding.causes : [finding.code],
  )
  const [first = 'malformed_certificate', ...others] = new Set(found)
  const reasons = [first, ...others] as const
  const cause = reasons.every((reason) => OF_THE_LIST.has(reason)) ? 'unavailable' : 'refuse'
  return { trusted: false, network, reasons, cause, decision }
}
