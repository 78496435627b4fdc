import { isJsonObject, readJson, writeJson } from '@chancery/protocol'
import type { CrlMark, JsonObject, JsonValue } from '@chancery/protocol'
import { Failure } from '../../failure.ts'
import { FOR_ALL, errorCode, readText, replaceFile } from '../../files.ts'
import type { FeedMark } from './judge.ts'

/** What was seen last and was good. A list that was refused never replaces it. */
export interface Memory {
  readonly authority: string
  readonly crl: CrlMark | undefined
  readonly feed: FeedMark | undefined
}

/** Remembers nothing where there is no file; one that cannot be understood stops: forgetting is what it is there against. */
export async function readMemory(path: string | undefined, authority: string): Promise<Memory> {
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
  if (value?.['authority'] !== authority) throw unusable(path)
  const [crl, feed] = [readMark(value['crl'], path), readMark(value['feed'], path)]
  if (feed === undefined) return { authority, crl, feed }
  if (feed.count === undefined) throw unusable(path)
  return { authority, crl, feed: { ...feed, count: feed.count } }
}

export async function writeMemory(path: string, { authority, crl, feed }: Memory): Promise<void> {
  const record = {
    authority,
    ...(crl === undefined ? {} : { crl: { ...crl } }),
    ...(feed === undefined ? {} : { feed: { ...feed } }),
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
function readMark(value: JsonValue | undefined, path: string): (CrlMark & { readonly count?: number }) | undefined {
  if (value === undefined) return undefined
  const { sequence, digest, count } = isJsonObject(value) ? value : {}
  if (typeof sequence !== 'number' || typeof digest !== 'string') throw unusable(path)
  return { sequence, digest, ...(typeof count === 'number' ? { count } : {}) }
}

function unusable(path: string): Failure {
  return new Failure({
    code: 'invalid_state',
    message: `${path} is not what a watch over this authority left.`,
    hint: 'Give another --state, or remove the file if you know why it differs.',
  })
}
