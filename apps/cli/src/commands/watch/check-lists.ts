import {
  CLOCK_TOLERANCE,
  CompactCrl,
  HOUR,
  authorityKeysAt,
  checkListAdvance,
  instantOf,
  positionOfFeed,
  sha256Hex,
  signedBytes,
  verifyList,
} from '@chancery/protocol'
import type { AdvancePosition, AuthorityKeys, Instant, RevocationFeed } from '@chancery/protocol'

/** Lists all problems. Each is a series of the metrics file. */
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

/** A list is signed again when 12 hours are left. One hour later it is old. */
const OLD_AFTER = 13n * HOUR

/** Last position, in the form of this release or of an earlier one. */
export type StoredPosition = AdvancePosition | { readonly sequence: number; readonly digest: string }

export interface Pin {
  readonly keys: AuthorityKeys
  readonly now: Instant
}

/** Returns the problems of a list. A list that the authority did not sign has only one problem. */
export async function checkListed(
  list: CompactCrl,
  { keys, now }: Pin,
  stored: StoredPosition | undefined,
  canary: string | undefined,
): Promise<readonly Problem[]> {
  if (!(await list.isSignedBy(authorityKeysAt(keys, list.crl.issued_at)))) return ['unauthentic']
  const problems: Problem[] = [...checkAdvance(stored, list, now)]
  const { issuedAt, nextUpdate } = list.position
  if (issuedAt > now + CLOCK_TOLERANCE) problems.push('future')
  if (now >= nextUpdate) problems.push('ended')
  else if (now - issuedAt > OLD_AFTER) problems.push('old')
  if (canary !== undefined && list.entryOf(canary) === undefined) problems.push('canary_missing')
  return problems
}

export type FeedPosition = StoredPosition & { readonly count: number }

/** Returns the problems of a feed. A feed contains all revoked attestations, so it only grows. */
export async function checkFeed(
  feed: RevocationFeed,
  { keys, now }: Pin,
  stored: FeedPosition | undefined,
): Promise<readonly Problem[]> {
  const isOwn = feed.issuer_sovereign_id === keys.genesis.network_name
  if (!isOwn || !(await verifyList(feed, authorityKeysAt(keys, feed.issued_at)))) return ['unauthentic']
  const problems: Problem[] = [...checkAdvance(stored, feed, now)]
  if (instantOf(feed.issued_at) > now + CLOCK_TOLERANCE) problems.push('future')
  if (stored !== undefined && feed.revoked_attestation_ids.length < stored.count) problems.push('shrunk')
  return problems
}

export function positionOf(document: CompactCrl | RevocationFeed): AdvancePosition {
  if (!(document instanceof CompactCrl)) return positionOfFeed(document)
  const { nextUpdate: _, ...position } = document.position
  return position
}

function checkAdvance(
  stored: StoredPosition | undefined,
  offered: CompactCrl | RevocationFeed,
  now: Instant,
): readonly ('rollback' | 'equivocation' | 'unauthentic')[] {
  if (stored === undefined) return []
  // The signature was verified. After a succession the lists continue under the name of the new key.
  const position = positionOf(offered)
  const verdict = checkListAdvance({ ...toPosition(stored, offered), issuer: position.issuer }, position, now)
  if (verdict.ok) return []
  return [verdict.reason === 'other_issuer' ? 'unauthentic' : verdict.reason]
}

/** An earlier release stored a digest of the signed bytes, which proves equal content only if it is equal. */
function toPosition(stored: StoredPosition, offered: CompactCrl | RevocationFeed): AdvancePosition {
  if ('entriesDigest' in stored) return stored
  const { issuer, entriesDigest } = positionOf(offered)
  const signed = offered instanceof CompactCrl ? offered.signedBytes : signedBytes(offered, 'signatures')
  const isSame = sha256Hex(signed) === stored.digest
  return { issuer, sequence: stored.sequence, issuedAt: 0n, entriesDigest: isSame ? entriesDigest : '' }
}
