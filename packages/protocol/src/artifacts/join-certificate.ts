import type { JsonValue } from '../canonical/json-value.ts'
import { CLOCK_TOLERANCE, hours, writeInstant } from '../canonical/time.ts'
import type { Instant } from '../canonical/time.ts'
import { arrayOf, closed, readRecord, required, withDefault } from '../reading/shape.ts'
import type { Read } from '../reading/shape.ts'
import { identifier, instantOf, plainText, publicKey, requireOrder, signatures, timestamp } from '../reading/text.ts'
import { verifyList } from '../signing/forms.ts'
import type { Signature } from '../signing/forms.ts'
import { HOLDS, fails } from './verdict.ts'
import type { Verdict } from './verdict.ts'

/** Membership of one node key in the network (protocol/core 6). */
export type JoinCertificate = {
  readonly cert_id: string
  readonly node_public_key: string
  readonly network_name: string
  readonly roles: readonly string[]
  readonly issued_at: string
  readonly expires_at: string
  readonly issued_by: string
  readonly signatures: readonly Signature[]
}

export const joinCertificateShape: Read<JoinCertificate> = closed({
  cert_id: required(identifier),
  node_public_key: required(publicKey),
  network_name: required(identifier),
  roles: required(arrayOf(plainText(128), { max: 64 })),
  issued_at: required(timestamp),
  expires_at: required(timestamp),
  issued_by: required(identifier),
  signatures: withDefault(signatures, []),
})

export function readJoinCertificate(value: JsonValue): JoinCertificate {
  const certificate = readRecord(joinCertificateShape, value)
  requireOrder(certificate, 'issued_at', '<', 'expires_at')
  return certificate
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
 * What a relying party checks apart from revocation (protocol/core 6).
 * 1. The network is ours: a certificate of another network says nothing here.
 * 2. The authority's key signed it: otherwise anyone could write one.
 * 3. Now lies in its window, give or take the clock tolerance.
 */
export async function verifyJoinCertificate(
  certificate: JoinCertificate,
  against: { readonly network_name: string; readonly authorityKey: string; readonly now: Instant },
): Promise<Verdict<CertificateReason>> {
  if (certificate.network_name !== against.network_name) return fails('wrong_network')
  if (certificate.signatures.length === 0) return fails('missing_signature')
  if (!(await verifyList(certificate, [against.authorityKey]))) return fails('invalid_signature')
  if (against.now < instantOf(certificate.issued_at) - CLOCK_TOLERANCE) return fails('not_yet_valid')
  if (against.now > instantOf(certificate.expires_at) + CLOCK_TOLERANCE) return fails('expired')
  return HOLDS
}
