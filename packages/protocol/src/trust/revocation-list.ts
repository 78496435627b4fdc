import type { RevocationList } from '../artifacts/crl.ts'
import { canonicalBytes } from '../canonical/canonical-json.ts'
import { digestOf } from '../canonical/digest.ts'
import type { Instant } from '../canonical/time.ts'
import { instantOf } from '../reading/text.ts'
import { verifySignature } from '../signing/verify.ts'
import type { AdvancePosition } from './list-advance.ts'

/**
 * Returns true when a signature of the list's issuer verifies with the key pinned for it. Other signatures are ignored.
 * An entry of another issuer makes the list invalid: one authority does not revoke for another.
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

/** The stored facts of the current list: its freshness, and the comparison with the next one. */
export interface ListPosition extends AdvancePosition {
  readonly nextUpdate: Instant
}

export function positionOfList(list: RevocationList): ListPosition {
  return {
    issuer: list.issuer,
    sequence: list.sequence,
    issuedAt: instantOf(list.issued_at),
    nextUpdate: instantOf(list.next_update),
    entriesDigest: digestOf(list.revoked_certificates),
  }
}

/** Maximum age of a list, and allowed clock skew of its issuer. */
export interface Freshness {
  readonly maxAge: Instant
  readonly clockSkew: Instant
}

export type ListProblem = 'crl_below_floor' | 'crl_stale' | 'crl_too_old'

/** Returns why a list must not be used now (protocol/gateway 9.1); skew never extends `next_update`. */
export function listProblems(
  list: ListPosition,
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
