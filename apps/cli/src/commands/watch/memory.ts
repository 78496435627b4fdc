import { isJsonObject, readInstant, readJson, writeInstant, writeJson } from '@chancery/protocol'
import type { JsonObject, JsonValue } from '@chancery/protocol'
import { Failure } from '../../failure.ts'
import { FOR_ALL, errorCode, readText, replaceFile } from '../../files.ts'
import type { FeedMark, HeldMark } from './judge.ts'

/** What was seen last and was good. A list that was refused never replaces it. */
export interface Memory {
  readonly authority: string
  readonly crl: HeldMark | undefined
  readonly feed: FeedMark | undefined
}

/** Remembers nothing where there is no file; one that cannot be understood stops: forgetting is what it is there against. */
/** `authorities` are all keys of the authority, the current one first: the list of a former one was its list, too. */
export async function readMemory(path: string | undefined, authorities: readonly string[]): Promise<Memory> {
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
  const value = parse(text)
  const kept = value?.['authority']
  if (value === undefined || typeof kept !== 'string' || !authorities.includes(kept)) throw unusable(path)
  const [crl, feed] = [readMark(value['crl'], path), readMark(value['feed'], path)]
  if (feed === undefined) return { authority, crl, feed }
  if (feed.count === undefined) throw unusable(path)
  return { authority, crl, feed: { ...feed, count: feed.count } }
}

export async function writeMemory(path: string, { authority, crl, feed }: Memory): Promise<void> {
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

function parse(text: string): JsonObject | undefined {
  try {
    const value = readJson(text)
    return isJsonObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Undefined only where nothing was seen yet: a mark that cannot be read is not one that never was. */
function readMark(value: JsonValue | undefined, path: string): (HeldMark & { readonly count?: number }) | undefined {
  if (value === undefined) return undefined
  const { sequence, digest, issuer, issued_at, entries_digest, count } = isJsonObject(value) ? value : {}
  if (typeof sequence !== 'number') throw unusable(path)
  const more = typeof count === 'number' ? { count } : {}
  // Of an earlier release; the next good look replaces it.
  if (typeof digest === 'string') return { sequence, digest, ...more }
  const issuedAt = typeof issued_at === 'string' ? readInstant(issued_at) : undefined
  if (typeof issuer !== 'string' || issuedAt === undefined || typeof entries_digest !== 'string') throw unusable(path)
  return { issuer, sequence, issuedAt, entriesDigest: entries_digest, ...more }
}

function toJson(mark: HeldMark): JsonObject {
  if (!('entriesDigest' in mark)) return { sequence: mark.sequence, digest: mark.digest }
  const { issuer, sequence, issuedAt, entriesDigest } = mark
  return { issuer, sequence, issued_at: writeInstant(issuedAt), entries_digest: entriesDigest }
}

function unusable(path: string): Failure {
  return new Failure({
    code: 'invalid_state',
    message: `${path} is not what a watch over this authority left.`,
    hint: 'Give another --state, or remove the file if you know why it differs.',
  })
}
