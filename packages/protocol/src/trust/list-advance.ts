import { VALID, type Verdict, invalid } from '../artifacts/verdict.ts'
import type { RevocationFeed } from '../artifacts/revocation-feed.ts'
import { digestOf } from '../canonical/digest.ts'
import { CLOCK_TOLERANCE, type Instant } from '../canonical/time.ts'
import { instantOf } from '../reading/text.ts'

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
