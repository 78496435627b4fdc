import { canonicalBytes } from '../canonical/canonical-json.ts'
import { digestOf } from '../canonical/digest.ts'
import type { JsonValue } from '../canonical/json-value.ts'
import type { Instant } from '../canonical/time.ts'
import { arrayOf, closed, integer, readRecord, required, string, withDefault } from '../reading/shape.ts'
import { instantOf, requireOrder, timestamp } from '../reading/text.ts'
import type { Signature } from '../signing/forms.ts'
import { verifySignature } from '../signing/verify.ts'
import type { AdvanceMark } from './list-advance.ts'

/** One revoked certificate as another authority's list names it: its reason is that authority's own text. */
export type RevokedEntry = {
  readonly certificate_id: string
  readonly revoked_at: string
  readonly reason: string
  readonly issuer: string
}

/** A revocation list of any authority (protocol/gateway 2.6). */
export type RevocationList = {
  readonly crl_id: string
  readonly sequence: number
  readonly issued_at: string
  readonly next_update: string
  readonly issuer: string
  readonly revoked_certificates: readonly RevokedEntry[]
  readonly signatures: readonly Signature[]
}

/** Bounded by the size of the whole document, not by a count. */
const ANY_NUMBER = { max: Number.MAX_SAFE_INTEGER }

const shape = closed({
  crl_id: required(string),
  sequence: required(integer(0, Number.MAX_SAFE_INTEGER)),
  issued_at: required(timestamp),
  next_update: required(timestamp),
  issuer: required(string),
  revoked_certificates: withDefault(
    arrayOf(
      closed({
        certificate_id: required(string),
        revoked_at: required(timestamp),
        reason: required(string),
        issuer: required(string),
      }),
      ANY_NUMBER,
    ),
    [],
  ),
  signatures: withDefault(arrayOf(closed({ key_id: required(string), sig: required(string) }), { max: 64 }), []),
})

export function readRevocationList(value: JsonValue): RevocationList {
  const list = readRecord(shape, value)
  requireOrder(list, 'issued_at', '<', 'next_update')
  return list
}

/**
 * Authentic: a signature under the list's own issuer verifies with the key pinned for it. Other signatures say nothing.
 * An entry of another issuer spoils the whole list: one authority does not revoke for another.
 */
export async function isAuthenticList(
  list: RevocationList,
  anchors: ReadonlyMap<string, Uint8Array>,
): Promise<boolean> {
  const key = anchors.get(list.issuer)
  if (key === undefined || list.revoked_certificates.some((entry) => entry.issuer !== list.issuer)) return false
  const { signatures, ...rest } = list
  const own = signatures.filter((signature) => signature.key_id === list.issuer)
  if (own.length === 0) return false
  const message = canonicalBytes(rest)
  for (const { sig } of own) if (await verifySignature(key, message, sig)) return true
  return false
}

/** What a verifier keeps of the list in force, enough to rely on it and to judge the next one. */
export interface ListMark extends AdvanceMark {
  readonly nextUpdate: Instant
}

export function markOfList(list: RevocationList): ListMark {
  return {
    issuer: list.issuer,
    sequence: list.sequence,
    issuedAt: instantOf(list.issued_at),
    nextUpdate: instantOf(list.next_update),
    entriesDigest: digestOf(list.revoked_certificates),
  }
}

/** How long a list is relied upon, and how far ahead of us its issuer's clock may be. */
export interface Freshness {
  readonly maxAge: Instant
  readonly clockSkew: Instant
}

export type ListProblem = 'crl_below_floor' | 'crl_stale' | 'crl_too_old'

/** Why a list must not be relied upon now (protocol/gateway 9.1); skew never extends `next_update`. */
export function listProblems(
  list: ListMark,
  floor: number,
  { maxAge, clockSkew }: Freshness,
  now: Instant,
): ListProblem[] {
  const problems: ListProblem[] = []
  if (list.sequence < floor) problems.push('crl_below_floor')
  if (list.issuedAt > now + clockSkew || now >= list.nextUpdate) problems.push('crl_stale')
  if (now - list.issuedAt > maxAge) problems.push('crl_too_old')
  return problems
}
