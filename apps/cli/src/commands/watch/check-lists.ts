import {
  CLOCK_TOLERANCE,
  CompactCrl,
  HOUR,
  authorityKeysAt,
  checkListAdvance,
  instantOf,
  isJsonObject,
  positionOfFeed,
  readInstant,
  sha256Hex,
  signedBytes,
  verifyList,
  writeInstant,
  writeJson,
} from '@chancery/protocol'
import type { AdvancePosition, AuthorityKeys, Instant, JsonObject, JsonValue, RevocationFeed } from '@chancery/protocol'
import { CommandError } from '../../errors/failure.ts'
import { FOR_ALL, errorCode, readText, replaceFile } from '../../files/files.ts'
import { parseJsonObject } from '../../files/json-file.ts'

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
type StoredPosition = AdvancePosition | { readonly sequence: number; readonly digest: string }

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

type FeedPosition = StoredPosition & { readonly count: number }

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

/** Last accepted positions. A refused list never replaces them. */
export interface WatchState {
  readonly authority: string
  readonly crl: StoredPosition | undefined
  readonly feed: FeedPosition | undefined
}

/** Reads the stored state; empty without a file. A damaged file is an error, because a lost position hides a rollback. */
/** `authorities` are all keys of the authority, the current one first: the list of a former one was its list, too. */
export async function readWatchState(path: string | undefined, authorities: readonly string[]): Promise<WatchState> {
  const authority = authorities[0] ?? ''
  const none = { authority, crl: undefined, feed: undefined }
  if (path === undefined) return none
  let text: string
  try {
    text = await readText(path)
  } catch (error) {
    if (isMissing(error)) return none
    throw error
  }
  const value = parseJsonObject(text)
  const saved = value?.['authority']
  if (value === undefined || typeof saved !== 'string' || !authorities.includes(saved)) throw unusable(path)
  const [crl, feed] = [readPosition(value['crl'], path), readPosition(value['feed'], path)]
  if (feed === undefined) return { authority, crl, feed }
  if (feed.count === undefined) throw unusable(path)
  return { authority, crl, feed: { ...feed, count: feed.count } }
}

export async function writeWatchState(path: string, { authority, crl, feed }: WatchState): Promise<void> {
  const record = {
    authority,
    ...(crl === undefined ? {} : { crl: toJson(crl) }),
    ...(feed === undefined ? {} : { feed: { ...toJson(feed), count: feed.count } }),
  }
  await replaceFile(path, `${writeJson(record)}\n`, FOR_ALL)
}

function isMissing(error: unknown): boolean {
  return errorCode(error) === 'ENOENT' || (error instanceof Error && errorCode(error.cause) === 'ENOENT')
}

/** Returns a stored position, or undefined before the first check. A damaged position is an error. */
function readPosition(
  value: JsonValue | undefined,
  path: string,
): (StoredPosition & { readonly count?: number }) | undefined {
  if (value === undefined) return undefined
  const { sequence, digest, issuer, issued_at, entries_digest, count } = isJsonObject(value) ? value : {}
  if (typeof sequence !== 'number') throw unusable(path)
  const more = typeof count === 'number' ? { count } : {}
  // From an earlier release; the next successful check replaces it.
  if (typeof digest === 'string') return { sequence, digest, ...more }
  const issuedAt = typeof issued_at === 'string' ? readInstant(issued_at) : undefined
  if (typeof issuer !== 'string' || issuedAt === undefined || typeof entries_digest !== 'string') throw unusable(path)
  return { issuer, sequence, issuedAt, entriesDigest: entries_digest, ...more }
}

function toJson(position: StoredPosition): JsonObject {
  if (!('entriesDigest' in position)) return { sequence: position.sequence, digest: position.digest }
  const { issuer, sequence, issuedAt, entriesDigest } = position
  return { issuer, sequence, issued_at: writeInstant(issuedAt), entries_digest: entriesDigest }
}

function unusable(path: string): CommandError {
  return new CommandError({
    code: 'invalid_state',
    message: `${path} is not a state file of chancery authority watch for this authority.`,
    hint: 'Give another --state, or remove the file if the difference is expected.',
  })
}
