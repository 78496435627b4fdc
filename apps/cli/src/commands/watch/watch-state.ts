import { type JsonObject, type JsonValue, isJsonObject, readInstant, writeInstant, writeJson } from '@chancery/protocol'
import { CommandError } from '../../errors/failure.ts'
import { FOR_ALL, errorCode, readText, replaceFile } from '../../files/files.ts'
import { parseJsonObject } from '../../files/json-file.ts'
import type { FeedPosition, StoredPosition } from './check-lists.ts'

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
    message: `${path} is not a state file of chancery watch for this authority.`,
    hint: 'Give another --state, or remove the file if the difference is expected.',
  })
}
