import type { JsonValue } from '../canonical/json-value.ts'
import { CLOCK_TOLERANCE, hours, writeInstant } from '../canonical/time.ts'
import type { Instant } from '../canonical/time.ts'
import { arrayOf, closed, readRecord, required, string, withDefault } from '../reading/shape.ts'
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

/** The members of a certificate, written once; a reader says how far it looks into their texts. */
function certificateReader(
  text: (rule: Read<string>) => Read<string>,
  { maxRoles, signed }: { readonly maxRoles: number; readonly signed: Read<readonly Signature[]> },
): Read<JoinCertificate> {
  return closed({
    cert_id: required(text(identifier)),
    node_public_key: required(text(publicKey)),
    network_name: required(text(identifier)),
    // Present in what is signed even when empty, so leaving it out says nothing else (protocol/gateway 2.5).
    roles: withDefault(arrayOf(text(plainText(128)), { max: maxRoles }), []),
    issued_at: required(text(timestamp)),
    expires_at: required(text(timestamp)),
    issued_by: required(text(identifier)),
    signatures: withDefault(signed, []),
  })
}

/** A certificate whose texts are what they are said to be. */
export const joinCertificateShape: Read<JoinCertificate> = certificateReader((rule) => rule, {
  maxRoles: 64,
  signed: signatures,
})

const ANY_NUMBER = { max: Number.MAX_SAFE_INTEGER }

/**
 * The same record as somebody presents it. The form only: whether keys, times and signatures mean anything is for the
 * evaluation to say, with a reason, and how much of it a gateway admits is a bound of its own (protocol/gateway 2.5).
 */
export const presentedCertificate: Read<JoinCertificate> = certificateReader(() => string, {
  maxRoles: ANY_NUMBER.max,
  signed: arrayOf(closed({ key_id: required(string), sig: required(string) }), ANY_NUMBER),
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
  against: { readonly network_name: string; readonly authorityKey: string | readonly string[]; readonly now: Instant },
): Promise<Verdict<CertificateReason>> {
  if (certificate.network_name !== against.network_name) return fails('wrong_network')
  if (certificate.signatures.length === 0) return fails('missing_signature')
  if (!(await verifyList(certificate, [against.authorityKey].flat()))) return fails('invalid_signature')
  if (against.now < instantOf(certificate.issued_at) - CLOCK_TOLERANCE) return fails('not_yet_valid')
  if (against.now > instantOf(certificate.expires_at) + CLOCK_TOLERANCE) return fails('expired')
  return HOLDS
}
