import type { Instant } from '../canonical/time.ts'
import { writeInstant } from '../canonical/write-time.ts'

/** Why the operator's policy does not admit a certificate at all (protocol/gateway 8.1), in the order of its checks. */
export type PolicyCause =
  | 'unknown_network'
  | 'unknown_issuer'
  | 'crl_below_floor'
  | 'crl_stale'
  | 'crl_too_old'
  | 'invalid_validity_window'
  | 'issuer_not_anchored'
  | 'invalid_node_key'
  | 'missing_role'
  | 'lifetime_too_long'

/** One reason to refuse, for programs (protocol/gateway 8.4). */
export type Finding =
  | { readonly code: 'network_policy_rejected'; readonly causes: readonly PolicyCause[] }
  | { readonly code: 'malformed_certificate'; readonly cause: 'encoding' | 'timestamp' }
  | { readonly code: 'no_signatures' }
  | { readonly code: 'unknown_issuer'; readonly key_id: string }
  | { readonly code: 'bad_signature'; readonly key_id: string }
  | { readonly code: 'no_trusted_issuer' }
  | { readonly code: 'issuer_signature_missing' }
  | { readonly code: 'invalid_validity_window' }
  | { readonly code: 'not_yet_valid'; readonly issued_at: string }
  | { readonly code: 'expired'; readonly expires_at: string }
  | { readonly code: 'stale_revocation_list' }
  | { readonly code: 'untrusted_revocation_list' }
  | { readonly code: 'revoked'; readonly reason: string; readonly revoked_at: string; readonly withdrawn: boolean }

const NAMES: Readonly<Record<Finding['code'], string>> = {
  network_policy_rejected: 'NetworkPolicyRejected',
  malformed_certificate: 'MalformedCertificate',
  no_signatures: 'NoSignatures',
  unknown_issuer: 'UnknownIssuer',
  bad_signature: 'BadSignature',
  no_trusted_issuer: 'NoTrustedIssuer',
  issuer_signature_missing: 'IssuerSignatureMissing',
  invalid_validity_window: 'InvalidValidityWindow',
  not_yet_valid: 'NotYetValid',
  expired: 'Expired',
  stale_revocation_list: 'StaleRevocationList',
  untrusted_revocation_list: 'UntrustedRevocationList',
  revoked: 'Revoked',
}

/** The same reason as text; existing callers look for these words (protocol/gateway 8.4). */
export function reasonText(finding: Finding): string {
  const name = NAMES[finding.code]
  switch (finding.code) {
    case 'unknown_issuer':
    case 'bad_signature':
      return `${name} { key_id: ${quoted(finding.key_id)} }`
    case 'not_yet_valid':
      return `${name} { issued_at: ${finding.issued_at} }`
    case 'expired':
      return `${name} { expires_at: ${finding.expires_at} }`
    case 'revoked':
      return `${name} { reason: ${quoted(finding.reason)} }`
    default:
      return name
  }
}

export function notYetValid(issuedAt: Instant): Finding {
  return { code: 'not_yet_valid', issued_at: writeInstant(issuedAt) }
}

export function expired(expiresAt: Instant): Finding {
  return { code: 'expired', expires_at: writeInstant(expiresAt) }
}

const ABOVE_ASCII_CONTROL = /[\u007f-\u009f]/g

/** A key id or a list's text comes from others: it must not be able to end the quotation or to start a new line. */
function quoted(text: string): string {
  return JSON.stringify(text).replace(
    ABOVE_ASCII_CONTROL,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
