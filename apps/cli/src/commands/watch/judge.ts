import {
  CLOCK_TOLERANCE,
  HOUR,
  authorityKeysAt,
  checkListAdvance,
  instantOf,
  markOfFeed,
  markOfList,
  sha256Hex,
  signedBytes,
  verifyList,
} from '@chancery/protocol'
import type { AdvanceMark, AuthorityKeys, Crl, Instant, RevocationFeed } from '@chancery/protocol'

/** All that can be wrong, as one fixed set: each is a series of the metrics file. */
export const PROBLEMS = [
  'unreachable',
  'malformed',
  'unauthentic',
  'rollback',
  'equivocation',
  'future',
  'old',
  'ended',
  'canary_missing',
  'shrunk',
] as const
export type Problem = (typeof PROBLEMS)[number]

/** Signed anew when 12 hours are left: an hour more and nobody does it. */
const OLD_AFTER = 13n * HOUR

/** What was seen last, as this release keeps it or as an earlier one left it. */
export type HeldMark = AdvanceMark | { readonly sequence: number; readonly digest: string }

export interface Pin {
  readonly keys: AuthorityKeys
  readonly now: Instant
}

/** What is wrong with a list, as a verifier sees it. Nothing else is said of one that the authority did not sign. */
export async function judgeList(
  crl: Crl,
  { keys, now }: Pin,
  held: HeldMark | undefined,
  canary: string | undefined,
): Promise<readonly Problem[]> {
  if (!(await verifyList(crl, authorityKeysAt(keys, crl.issued_at)))) return ['unauthentic']
  const problems: Problem[] = [...judgeAdvance(held, crl, now)]
  const issuedAt = instantOf(crl.issued_at)
  if (issuedAt > now + CLOCK_TOLERANCE) problems.push('future')
  if (now >= instantOf(crl.next_update)) problems.push('ended')
  else if (now - issuedAt > OLD_AFTER) problems.push('old')
  if (canary !== undefined && !crl.revoked_certificates.some((entry) => entry.certificate_id === canary))
    problems.push('canary_missing')
  return problems
}

export type FeedMark = HeldMark & { readonly count: number }

/** A feed has no end of its own; it names everything ever withdrawn, so it only grows. */
export async function judgeFeed(
  feed: RevocationFeed,
  { keys, now }: Pin,
  held: FeedMark | undefined,
): Promise<readonly Problem[]> {
  const isOurs = feed.issuer_sovereign_id === keys.genesis.network_name
  if (!isOurs || !(await verifyList(feed, authorityKeysAt(keys, feed.issued_at)))) return ['unauthentic']
  const problems: Problem[] = [...judgeAdvance(held, feed, now)]
  if (instantOf(feed.issued_at) > now + CLOCK_TOLERANCE) problems.push('future')
  if (held !== undefined && feed.revoked_attestation_ids.length < held.count) problems.push('shrunk')
  return problems
}

export function markOf(record: Crl | RevocationFeed): AdvanceMark {
  if ('feed_id' in record) return markOfFeed(record)
  const { nextUpdate: _, ...mark } = markOfList(record)
  return mark
}

function judgeAdvance(
  held: HeldMark | undefined,
  offered: Crl | RevocationFeed,
  now: Instant,
): readonly ('rollback' | 'equivocation' | 'unauthentic')[] {
  if (held === undefined) return []
  // The keys were judged by the signature: after a succession the lists go on under the name of the new one.
  const mark = markOf(offered)
  const verdict = checkListAdvance({ ...toMark(held, offered), issuer: mark.issuer }, mark, now)
  if (verdict.ok) return []
  return [verdict.reason === 'other_issuer' ? 'unauthentic' : verdict.reason]
}

/** An earlier release kept a digest of all that was signed: equal content is only known where that is equal. */
function toMark(held: HeldMark, offered: Crl | RevocationFeed): AdvanceMark {
  if ('entriesDigest' in held) return held
  const { issuer, entriesDigest } = markOf(offered)
  const isSame = sha256Hex(signedBytes(offered, 'signatures')) === held.digest
  return { issuer, sequence: held.sequence, issuedAt: 0n, entriesDigest: isSame ? entriesDigest : '' }
}
