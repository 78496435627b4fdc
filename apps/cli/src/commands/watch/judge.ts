import {
  CLOCK_TOLERANCE,
  HOUR,
  checkCrlAdvance,
  instantOf,
  sha256Hex,
  signedBytes,
  verifyList,
} from '@chancery/protocol'
import type { Crl, CrlMark, GenesisBlock, Instant, RevocationFeed } from '@chancery/protocol'

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

export interface Pin {
  readonly genesis: GenesisBlock
  readonly now: Instant
}

/** What is wrong with a list, as a verifier sees it. Nothing else is said of one that the authority did not sign. */
export async function judgeList(
  crl: Crl,
  { genesis, now }: Pin,
  held: CrlMark | undefined,
  canary: string | undefined,
): Promise<readonly Problem[]> {
  if (!(await verifyList(crl, [genesis.network_authority.public_key]))) return ['unauthentic']
  const problems: Problem[] = [...judgeAdvance(held, markOf(crl))]
  const issuedAt = instantOf(crl.issued_at)
  if (issuedAt > now + CLOCK_TOLERANCE) problems.push('future')
  if (now >= instantOf(crl.next_update)) problems.push('ended')
  else if (now - issuedAt > OLD_AFTER) problems.push('old')
  if (canary !== undefined && !crl.revoked_certificates.some((entry) => entry.certificate_id === canary))
    problems.push('canary_missing')
  return problems
}

export interface FeedMark extends CrlMark {
  readonly count: number
}

/** A feed has no end of its own; it names everything ever withdrawn, so it only grows. */
export async function judgeFeed(
  feed: RevocationFeed,
  { genesis, now }: Pin,
  held: FeedMark | undefined,
): Promise<readonly Problem[]> {
  const isOurs = feed.issuer_sovereign_id === genesis.network_name
  if (!isOurs || !(await verifyList(feed, [genesis.network_authority.public_key]))) return ['unauthentic']
  const problems: Problem[] = [...judgeAdvance(held, markOf(feed))]
  if (instantOf(feed.issued_at) > now + CLOCK_TOLERANCE) problems.push('future')
  if (held !== undefined && feed.revoked_attestation_ids.length < held.count) problems.push('shrunk')
  return problems
}

/** By what was signed: another signature over the same content is no second content. */
export function markOf(record: Crl | RevocationFeed): CrlMark {
  return { sequence: record.sequence, digest: sha256Hex(signedBytes(record, 'signatures')) }
}

function judgeAdvance(held: CrlMark | undefined, offered: CrlMark): readonly Problem[] {
  const verdict = held === undefined ? undefined : checkCrlAdvance(held, offered)
  if (verdict === undefined || verdict.ok) return []
  return [verdict.reason === 'lower_sequence' ? 'rollback' : 'equivocation']
}
