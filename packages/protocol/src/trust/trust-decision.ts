import { type Instant, seconds } from '../canonical/time.ts'
import { writeInstant } from '../canonical/write-time.ts'
import type { CertificateResult } from './evaluate-certificate.ts'
import { type Finding, reasonText } from './findings.ts'

/** The answer of a verify route (protocol/gateway 7.1). Only `trusted` is trust; a 200 is not. */
export type TrustDecision = {
  readonly trusted: boolean
  readonly reasons: readonly string[]
  readonly findings: readonly Finding[]
  readonly evaluation: {
    readonly evaluated_at: string
    readonly policy_revision: string | null
    readonly network: string
    readonly issuer: string | null
    readonly crl_sequence: number | null
    readonly crl_next_update: string | null
    readonly recheck_after: string | null
  }
}

/** Maximum cache time of a positive verdict: a revocation must not wait for a cache. */
const MAX_CACHED: Instant = seconds(60)

export function toTrustDecision(
  result: CertificateResult,
  facts: { readonly network: string; readonly policyRevision: string | null; readonly now: Instant },
): TrustDecision {
  const { findings, issuer } = result
  const trusted = findings.length === 0
  const recheck = recheckAfter(result, trusted, facts.now)
  return {
    trusted,
    reasons: findings.map(reasonText),
    findings,
    evaluation: {
      evaluated_at: writeInstant(facts.now),
      policy_revision: facts.policyRevision,
      network: facts.network,
      issuer: issuer?.issuer ?? null,
      crl_sequence: issuer?.list.sequence ?? null,
      crl_next_update: issuer === undefined ? null : writeInstant(issuer.list.nextUpdate),
      recheck_after: recheck === undefined ? null : writeInstant(recheck),
    },
  }
}

function recheckAfter({ issuer, expiresAt }: CertificateResult, trusted: boolean, now: Instant): Instant | undefined {
  const limits = [expiresAt, issuer?.list.nextUpdate, trusted ? now + MAX_CACHED : undefined]
  return limits.reduce((earliest, limit) => {
    if (limit === undefined) return earliest
    return earliest === undefined || limit < earliest ? limit : earliest
  }, undefined)
}
