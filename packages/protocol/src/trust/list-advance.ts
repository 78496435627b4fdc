import { HOLDS, fails } from '../artifacts/verdict.ts'
import type { Verdict } from '../artifacts/verdict.ts'
import type { RevocationFeed } from '../artifacts/revocation-feed.ts'
import { digestOf } from '../canonical/digest.ts'
import { CLOCK_TOLERANCE } from '../canonical/time.ts'
import type { Instant } from '../canonical/time.ts'
import { instantOf } from '../reading/text.ts'

/** What is kept of an authentic list or feed to judge the next one by. */
export interface AdvanceMark {
  readonly issuer: string
  readonly sequence: number
  readonly issuedAt: Instant
  /** Over what is withdrawn, one by one and in order; times, id and signatures are not in it. */
  readonly entriesDigest: string
}

export type AdvanceRefusal = 'other_issuer' | 'rollback' | 'equivocation'

/**
 * Whether an offered list may replace the held one (protocol/gateway 9.2). The one rule of authority, gateway, library
 * and command line. At an equal sequence the revocations must be the same, one by one and in order; an authority may
 * sign an unchanged list again to keep it fresh. An authentic list that breaks this proves that the authority signed two
 * histories, whatever time it carries.
 *
 * A held list that is dated ahead of our clock was taken for what it withdraws, or given by an operator. Its time must
 * not keep every later list out until that time has come, so then only the numbers count.
 */
export function checkListAdvance(held: AdvanceMark, offered: AdvanceMark, now: Instant): Verdict<AdvanceRefusal> {
  if (offered.issuer !== held.issuer) return fails('other_issuer')
  if (offered.sequence < held.sequence) return fails('rollback')
  if (offered.sequence === held.sequence && offered.entriesDigest !== held.entriesDigest) return fails('equivocation')
  const isAhead = held.issuedAt > now + CLOCK_TOLERANCE
  return !isAhead && offered.issuedAt < held.issuedAt ? fails('rollback') : HOLDS
}

/** A feed is judged by the same rule. Its ids are sorted, so their order says nothing of its own. */
export function markOfFeed(feed: RevocationFeed): AdvanceMark {
  return {
    issuer: feed.issuer_sovereign_id,
    sequence: feed.sequence,
    issuedAt: instantOf(feed.issued_at),
    entriesDigest: digestOf(feed.revoked_attestation_ids),
  }
}
