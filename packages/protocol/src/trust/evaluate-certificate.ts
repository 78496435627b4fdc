import { fromBase64 } from '../canonical/base64.ts'
import type { Instant } from '../canonical/time.ts'
import { type FormerKey, wasCurrent } from '../artifacts/key-history.ts'
import { certificateBytes, windowOf } from '../artifacts/join-certificate.ts'
import type { CertificateWindow, JoinCertificate } from '../artifacts/join-certificate.ts'
import { readPublicKey, verifySignatureBytes } from '../signing/keys.ts'
import { type Finding, type PolicyCause, expired, notYetValid } from './findings.ts'
import { type Freshness, type ListPosition, listProblems } from './revocation-list.ts'

/** A stored revocation. Withdrawn: a later list does not name it; it stays refused (protocol/gateway 9.3). */
export interface RevocationState {
  readonly reason: string
  readonly revoked_at: string
  readonly withdrawn: boolean
}

/** Prepared once per list, so that a look-up costs the same for ten and for a million revocations. */
export interface RevocationIndex {
  find(certificateId: string): RevocationState | undefined
}

/** One trusted authority: its pinned keys and the current list. Lists are never merged. */
export interface IssuerTrust {
  readonly issuer: string
  readonly anchors: ReadonlyMap<string, Uint8Array>
  readonly list: ListPosition
  readonly floor: number
  readonly freshness: Freshness
  readonly revocations: RevocationIndex
  /** Of a former key: when it was the key of its authority. A certificate with another date is not of the authority. */
  readonly period?: Pick<FormerKey, 'valid_from' | 'valid_to'>
}

/** What the operator configured for one network, ready for use. */
export interface NetworkTrust {
  readonly name: string
  /** Primary and additional issuers by key id. */
  readonly issuers: ReadonlyMap<string, IssuerTrust>
  readonly requiredRoles: readonly string[]
  readonly certificateSkew: Instant
  readonly maxLifetime: Instant | undefined
}

export interface CertificateResult {
  /** Empty exactly when the certificate is trusted. */
  readonly findings: readonly Finding[]
  /** Whose keys and list were used; undefined when the policy admits no issuer. */
  readonly issuer: IssuerTrust | undefined
  readonly expiresAt: Instant | undefined
}

/** For each signature of a certificate, in their order. Undefined: no anchor of the issuer has its key id. */
export type SignatureVerdicts = readonly (boolean | undefined)[]

/** Returns undefined for a signature that is not 64 bytes. */
export type VerifySignatures = (
  certificate: JoinCertificate,
  anchors: IssuerTrust['anchors'],
) => SignatureVerdicts | undefined | Promise<SignatureVerdicts>

/**
 * Verifies one certificate under the operator's policy at one instant (protocol/gateway 8). Never throws on input.
 * Synchronous where the platform verifies synchronously: a gateway then never has two unfinished verifications. A
 * caller may give its own `verify`, to reuse verdicts: they depend on the certificate and the anchors alone.
 */
export function evaluateCertificate(
  certificate: JoinCertificate,
  network: NetworkTrust | undefined,
  now: Instant,
  verify?: VerifySignatures,
): CertificateResult | Promise<CertificateResult> {
  const window = windowOf(certificate)
  const issuer = network?.issuers.get(certificate.issued_by)
  if (window === undefined) return { findings: [malformed('timestamp')], issuer, expiresAt: undefined }
  const result = { issuer, expiresAt: window.expiresAt }
  const causes = policyCauses(certificate, window, { network, issuer, now })
  if (network === undefined || issuer === undefined || causes.length > 0) {
    return { ...result, findings: [{ code: 'network_policy_rejected', causes }] }
  }
  const trust = {
    anchors: issuer.anchors,
    skew: network.certificateSkew,
    list: {
      issuedAt: issuer.list.issuedAt,
      nextUpdate: issuer.list.nextUpdate,
      // How far ahead an issuer's clock may be is the list's own rule; a lower skew for certificates does not touch it.
      clockSkew: issuer.freshness.clockSkew,
      authentic: true,
      revocations: issuer.revocations,
    },
    now,
  }
  return withFindings(result, runChecks(certificate, window, trust, verify))
}

function withFindings(
  result: Omit<CertificateResult, 'findings'>,
  checked: Finding[] | Promise<Finding[]>,
): CertificateResult | Promise<CertificateResult> {
  if (checked instanceof Promise) return checked.then((findings) => ({ ...result, findings }))
  return { ...result, findings: checked }
}

/** Trust inputs from a caller of a gateway in development mode: no policy, its own keys, and optionally a list. */
export interface CallerTrust {
  readonly anchors: ReadonlyMap<string, Uint8Array>
  readonly skew: Instant
  readonly list:
    | (Pick<ListPosition, 'issuedAt' | 'nextUpdate'> & {
        /** How far ahead the list may be issued; as far as certificates when absent. */
        readonly clockSkew?: Instant
        readonly authentic: boolean
        readonly revocations: RevocationIndex
      })
    | undefined
  readonly now: Instant
}

/** The checks alone, without a policy gate (protocol/gateway 3.8 and 8.2). */
export function checkCertificate(
  certificate: JoinCertificate,
  trust: CallerTrust,
): CertificateResult | Promise<CertificateResult> {
  const window = windowOf(certificate)
  if (window === undefined) return { findings: [malformed('timestamp')], issuer: undefined, expiresAt: undefined }
  const result = { issuer: undefined, expiresAt: window.expiresAt }
  if (readPublicKey(certificate.node_public_key) === undefined) return { ...result, findings: [malformed('encoding')] }
  return withFindings(result, runChecks(certificate, window, trust))
}

interface Gate {
  readonly network: NetworkTrust | undefined
  readonly issuer: IssuerTrust | undefined
  readonly now: Instant
}

/** protocol/gateway 8.1. Unknown networks and issuers end it: there is nothing to compare the rest with. */
function policyCauses(
  certificate: JoinCertificate,
  window: CertificateWindow,
  { network, issuer, now }: Gate,
): PolicyCause[] {
  if (network === undefined) return ['unknown_network']
  if (issuer === undefined) return ['unknown_issuer']
  if (issuer.period !== undefined && !wasCurrent(issuer.period, window.issuedAt)) return ['unknown_issuer']
  const causes: PolicyCause[] = [...listProblems(issuer.list, issuer.floor, issuer.freshness, now)]
  const lifetime = window.expiresAt - window.issuedAt
  if (lifetime <= 0n) causes.push('invalid_validity_window')
  if (!issuer.anchors.has(certificate.issued_by)) causes.push('issuer_not_anchored')
  if (readPublicKey(certificate.node_public_key) === undefined) causes.push('invalid_node_key')
  if (!network.requiredRoles.every((role) => certificate.roles.includes(role))) causes.push('missing_role')
  if (network.maxLifetime !== undefined && lifetime > network.maxLifetime) causes.push('lifetime_too_long')
  return causes
}

function runChecks(
  certificate: JoinCertificate,
  window: CertificateWindow,
  trust: CallerTrust,
  verify: VerifySignatures = verifySignatures,
): Finding[] | Promise<Finding[]> {
  const gather = (verdicts: SignatureVerdicts | undefined): Finding[] =>
    verdicts === undefined
      ? [malformed('encoding')]
      : [...signatureFindings(certificate, verdicts), ...otherFindings(certificate, window, trust)]
  const verdicts = verify(certificate, trust.anchors)
  return verdicts instanceof Promise ? verdicts.then(gather) : gather(verdicts)
}

/** Verifies each signature under the anchor of its key id. */
export const verifySignatures: VerifySignatures = (certificate, anchors) => {
  const message = certificateBytes(certificate)
  const verdicts: (boolean | undefined | Promise<boolean>)[] = []
  for (const { key_id, sig } of certificate.signatures) {
    const bytes = fromBase64(sig)
    if (bytes?.length !== 64) return undefined
    const key = anchors.get(key_id)
    verdicts.push(key && verifySignatureBytes(key, message, bytes))
  }
  // Without a promise all of them are verdicts.
  return verdicts.some((verdict) => verdict instanceof Promise)
    ? // oxlint-disable-next-line await-thenable -- it takes values, too, and a wrapper would enlarge the verify bundle
      Promise.all(verdicts)
    : (verdicts as SignatureVerdicts)
}

function otherFindings(certificate: JoinCertificate, window: CertificateWindow, trust: CallerTrust): Finding[] {
  const findings: Finding[] = []
  const { now, skew } = trust
  if (window.issuedAt >= window.expiresAt) findings.push({ code: 'invalid_validity_window' })
  if (now < window.issuedAt - skew) findings.push(notYetValid(window.issuedAt))
  if (now > window.expiresAt + skew) findings.push(expired(window.expiresAt))
  findings.push(...listFindings(certificate, trust))
  return findings
}

function signatureFindings(certificate: JoinCertificate, verdicts: SignatureVerdicts): Finding[] {
  const findings: Finding[] = []
  const verified = new Set<string>()
  if (certificate.signatures.length === 0) findings.push({ code: 'no_signatures' })
  for (const [at, { key_id }] of certificate.signatures.entries()) {
    const verdict = verdicts[at]
    if (verdict === undefined) findings.push({ code: 'unknown_issuer', key_id })
    else if (verdict) verified.add(key_id)
    else findings.push({ code: 'bad_signature', key_id })
  }
  if (certificate.signatures.length > 0 && verified.size === 0) findings.push({ code: 'no_trusted_issuer' })
  // Another anchored key cannot stand in for the one the certificate names.
  if (!verified.has(certificate.issued_by)) findings.push({ code: 'issuer_signature_missing' })
  return findings
}

function listFindings({ cert_id }: JoinCertificate, { list, now, skew }: CallerTrust): Finding[] {
  if (list === undefined) return []
  const findings: Finding[] = []
  if (now >= list.nextUpdate || list.issuedAt > now + (list.clockSkew ?? skew))
    findings.push({ code: 'stale_revocation_list' })
  // A list without a valid signature revokes nothing.
  if (!list.authentic) return [...findings, { code: 'untrusted_revocation_list' }]
  const known = list.revocations.find(cert_id)
  if (known !== undefined) findings.push({ code: 'revoked', ...pick(known) })
  return findings
}

function pick({ reason, revoked_at, withdrawn }: RevocationState): RevocationState {
  return { reason, revoked_at, withdrawn }
}

function malformed(cause: 'encoding' | 'timestamp'): Finding {
  return { code: 'malformed_certificate', cause }
}
