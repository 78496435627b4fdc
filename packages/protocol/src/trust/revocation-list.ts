import type { RevocationList } from '../artifacts/crl.ts'
import { canonicalBytes } from '../canonical/canonical-json.ts'
import { digestOf } from '../canonical/digest.ts'
import { CLOCK_TOLERANCE, type Instant } from '../canonical/time.ts'
import { instantOf } from '../reading/text.ts'
import { verifySignature } from '../signing/keys.ts'
import { VALID, type Verdict, invalid } from '../artifacts/verdict.ts'
import type { RevocationFeed } from '../artifacts/revocation-feed.ts'

/** The stored facts of an authentic list or feed that the next one is compared with. */
export interface AdvancePosition {
  readonly issuer: string
  readonly sequence: number
  readonly issuedAt: Instant
  /** Covers the revoked ids or entries in order; times, id and signatures are not included. */
  readonly entriesDigest: string
}

export type AdvanceRefusal = 'other_issuer' | 'rollback' | 'equivocation'

/**
 * Checks whether an offered list may replace the stored one (protocol/gateway 9.2). Authority, gateway, library and
 * command line all use this rule.
 * 1. The issuer is the same, else `other_issuer`.
 * 2. The sequence is not lower, else `rollback`.
 * 3. An equal sequence has equal entries in the same order, else `equivocation`: the authority signed two different
 *    lists. An authority may sign an unchanged list again to keep it fresh.
 * 4. `issued_at` is not earlier, else `rollback`. The exception is a stored list that is dated over 300 s in the future:
 *    its time would block every later list until that time.
 */
export function checkListAdvance(
  stored: AdvancePosition,
  offered: AdvancePosition,
  now: Instant,
): Verdict<AdvanceRefusal> {
  if (offered.issuer !== stored.issuer) return invalid('other_issuer')
  if (offered.sequence < stored.sequence) return invalid('rollback')
  if (offered.sequence === stored.sequence && offered.entriesDigest !== stored.entriesDigest)
    return invalid('equivocation')
  const isStoredInFuture = stored.issuedAt > now + CLOCK_TOLERANCE
  return !isStoredInFuture && offered.issuedAt < stored.issuedAt ? invalid('rollback') : VALID
}

/** Returns the position of a feed for `checkListAdvance`. The ids of a feed are sorted, so their order adds nothing. */
export function positionOfFeed(feed: RevocationFeed): AdvancePosition {
  return {
    issuer: feed.issuer_sovereign_id,
    sequence: feed.sequence,
    issuedAt: instantOf(feed.issued_at),
    entriesDigest: digestOf(feed.revoked_attestation_ids),
  }
}

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
