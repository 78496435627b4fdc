import { certificateBytes, evaluateCertificate, sha256Hex, toTrustDecision } from '@chancery/protocol'
import type { Instant, JoinCertificate, JsonObject, NetworkTrust, TrustDecision } from '@chancery/protocol'
import type { GatewayErrorName } from '@chancery/contract'
import type { TrustData } from '../../trust/snapshot.ts'
import type { MaybePromise } from '@chancery/service-kit'

/** What the audit stores of a decision: the verdict and its reasons, nothing of the certificate itself. */
export interface AuditedDecision {
  readonly trusted: boolean
  readonly reasons: readonly string[]
}

/** Limit of one reason in characters: key ids in it are text of the caller. */
const REASON_CHARACTERS = 128
/** Limit of all reasons of one request together. */
const REQUEST_CHARACTERS = 65_536

type DecisionReasons = Pick<TrustDecision, 'trusted' | 'reasons'>

export function toAudited(decision: DecisionReasons): AuditedDecision {
  return { trusted: decision.trusted, reasons: decision.reasons.map(cut) }
}

/**
 * Converts the decisions of a batch, with a size limit: thousands of certificates with long key ids would be megabytes
 * in an event that is written before the response. Above the limit only the kinds of reasons are stored, each once.
 */
export function toAuditedBatch(decisions: readonly DecisionReasons[]): readonly AuditedDecision[] {
  let left = REQUEST_CHARACTERS
  return decisions.map(({ trusted, reasons }) => {
    const texts = reasons.map(cut)
    left -= texts.reduce((sum, text) => sum + text.length, 0)
    return { trusted, reasons: left >= 0 ? texts : [...new Set(texts.map(kindOf))] }
  })
}

function cut(reason: string): string {
  return reason.length <= REASON_CHARACTERS ? reason : `${reason.slice(0, REASON_CHARACTERS).toWellFormed()}…`
}

function kindOf(reason: string): string {
  const end = reason.indexOf(' ')
  return end < 0 ? reason : reason.slice(0, end)
}

/** The body is sent to the thread as bytes. Copying bytes costs a hundredth of copying the parsed value. */
export interface BatchRequest {
  readonly bytes: Uint8Array
  readonly maxBatch: number
  readonly networks: readonly string[]
}

export interface SingleRequest {
  readonly bytes: Uint8Array
  readonly networks: readonly string[]
}

export interface RefusedResult {
  readonly refusal: GatewayErrorName
  readonly details: JsonObject | undefined
}

export type CheckResult = { readonly count: number } | RefusedResult
export type CertificateResult = { readonly certificate: JoinCertificate } | RefusedResult

export interface VerifyRequest {
  readonly now: Instant
  /** Set only when the thread lacks this version. */
  readonly trust: TrustData | undefined
  readonly version: number
  /** Whether the audit stores the decisions. */
  readonly isAudited: boolean
}

export interface BatchResult {
  /** The response as JSON text. The main thread sends it unread. */
  readonly body: Uint8Array
  readonly trusted: number
  readonly untrusted: number
  readonly audited: { readonly decisions: readonly AuditedDecision[]; readonly digests: readonly string[] } | undefined
}

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
