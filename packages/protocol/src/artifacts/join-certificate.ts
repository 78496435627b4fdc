import { canonicalJson } from '../canonical/canonical-json.ts'
import { type JsonValue, toUtf8 } from '../canonical/utf8.ts'
import { CLOCK_TOLERANCE, type Instant, hours, readInstant } from '../canonical/time.ts'
import { writeInstant } from '../canonical/write-time.ts'
import { arrayOf, closed, readRecord, required, string, withDefault } from '../reading/shape.ts'
import type { Read, ReadBy } from '../reading/schema.ts'
import {
  identifier,
  plainText,
  publicKey,
  requireOrder,
  signatures,
  timestamp,
  uncheckedSignatures,
} from '../reading/text.ts'
import type { Signature } from '../signing/keys.ts'
import { verifyAny } from '../signing/verify-any.ts'
import { VALID, type Verdict, invalid } from './verdict.ts'

/** Builds a reader of the members of a certificate; `text` decides which rule applies to each text. */
function certificateShape(
  text: (rule: Read<string>) => Read<string>,
  { maxRoles, signed }: { readonly maxRoles: number; readonly signed: Read<readonly Signature[]> },
) {
  return closed({
    cert_id: required(text(identifier)),
    node_public_key: required(text(publicKey)),
    network_name: required(text(identifier)),
    // The signed bytes contain `roles` even when it is empty, so an absent member means an empty list (protocol/gateway 2.5).
    roles: withDefault(arrayOf(text(plainText(128)), { max: maxRoles }), []),
    issued_at: required(text(timestamp)),
    expires_at: required(text(timestamp)),
    issued_by: required(text(identifier)),
    signatures: withDefault(signed, []),
  })
}

/** Reads a certificate and checks every field. */
export const joinCertificateShape = certificateShape((rule) => rule, {
  maxRoles: 64,
  signed: signatures,
})

/** Membership of one node key in the network (protocol/core 6). */
export type JoinCertificate = ReadBy<typeof joinCertificateShape>

/**
 * Reads the form of a certificate that a caller presents. Keys, times and signatures are checked by the evaluation,
 * which returns a reason. `isWithinLimits` checks the sizes that a gateway accepts (protocol/gateway 2.5).
 */
export const presentedCertificate: Read<JoinCertificate> = certificateShape(() => string, {
  maxRoles: Number.MAX_SAFE_INTEGER,
  signed: uncheckedSignatures(Number.MAX_SAFE_INTEGER),
})

/** Reads a certificate, checks every field and the order of its times. */
export function readJoinCertificate(value: JsonValue): JoinCertificate {
  const certificate = readRecord(joinCertificateShape, value)
  requireOrder(certificate, 'issued_at', '<', 'expires_at')
  return certificate
}

/** The validity period of a certificate. */
export interface CertificateWindow {
  readonly issuedAt: Instant
  readonly expiresAt: Instant
}

/** Returns the validity period, or undefined when one of the two times is malformed. */
export function windowOf(
  certificate: Pick<JoinCertificate, 'issued_at' | 'expires_at'>,
): CertificateWindow | undefined {
  const [issuedAt, expiresAt] = [readInstant(certificate.issued_at), readInstant(certificate.expires_at)]
  return issuedAt === undefined || expiresAt === undefined ? undefined : { issuedAt, expiresAt }
}

/** Returns the bytes that every signature of the certificate covers; `roles` is present even when empty. */
export function certificateBytes(certificate: JoinCertificate): Uint8Array {
  const { cert_id, expires_at, issued_at, issued_by, network_name, node_public_key, roles } = certificate
  // The names are in canonical order here. Sorting them on every call would take most of the time.
  return toUtf8(
    `{"cert_id":${canonicalJson(cert_id)},"expires_at":${canonicalJson(expires_at)},"issued_at":${canonicalJson(issued_at)},"issued_by":${canonicalJson(issued_by)},"network_name":${canonicalJson(network_name)},"node_public_key":${canonicalJson(node_public_key)},"roles":${canonicalJson(roles)}}`,
  )
}

export function draftJoinCertificate(facts: {
  readonly cert_id: string
  readonly node_public_key: string
  readonly network_name: string
  readonly roles: readonly string[]
  readonly issued_by: string
  readonly now: Instant
  readonly validityHours: number
}): JoinCertificate {
  const { now, validityHours, ...named } = facts
  const window = { issued_at: writeInstant(now), expires_at: writeInstant(now + hours(validityHours)) }
  return { ...named, ...window, signatures: [] }
}

export type CertificateReason =
  | 'wrong_network'
  | 'missing_signature'
  | 'invalid_signature'
  | 'not_yet_valid'
  | 'expired'

/**
 * The one rule about the signatures of a certificate (protocol/core 6): each of them verifies under a trusted key, and
 * one of them bears the key id of the issuer. A certificate with a further signature of an unknown key is refused.
 */
export async function hasOnlyTrustedSignatures(
  certificate: JoinCertificate,
  keys: readonly string[],
): Promise<boolean> {
  const { signatures: made, issued_by } = certificate
  const message = certificateBytes(certificate)
  for (const each of made) if (!(await verifyAny(message, [each], keys))) return false
  return made.some(({ key_id }) => key_id === issued_by)
}

/**
 * Checks everything except revocation (protocol/core 6).
 * 1. The network is the expected one.
 * 2. Every signature is one of the authority's keys.
 * 3. The time is within the validity period, with the clock tolerance on both sides.
 */
export async function verifyJoinCertificate(
  certificate: JoinCertificate,
  against: { readonly network_name: string; readonly authorityKey: string | readonly string[]; readonly now: Instant },
): Promise<Verdict<CertificateReason>> {
  if (certificate.network_name !== against.network_name) return invalid('wrong_network')
  if (certificate.signatures.length === 0) return invalid('missing_signature')
  const keys = [against.authorityKey].flat()
  if (!(await hasOnlyTrustedSignatures(certificate, keys))) return invalid('invalid_signature')
  const window = windowOf(certificate)
  if (window === undefined || against.now < window.issuedAt - CLOCK_TOLERANCE) return invalid('not_yet_valid')
  if (against.now > window.expiresAt + CLOCK_TOLERANCE) return invalid('expired')
  return VALID
}
