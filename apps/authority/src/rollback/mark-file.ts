import { randomBytes } from 'node:crypto'
import { open, readFile, readdir, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import {
  FormError,
  JsonError,
  isJsonObject,
  readInstant,
  readJsonBytes,
  sha256Hex,
  signList,
  verifyList,
  writeJson,
} from '@chancery/protocol'
import type { JsonObject, Signature } from '@chancery/protocol'
import type { AuthoritySigner } from '../signing/own-keys.ts'
import type { Reader } from '../database/database.ts'
import { DamagedListError, findList, gzipOfList, isLargeList, unzipList } from '../database/list-segments.ts'

/** A sequence that only rises, and the digest at that sequence. */
export type Head = { readonly sequence: number; readonly digest: string }

/**
 * The state that the database had reached (reliability 12). It is stored outside the database, so that a restored old
 * backup is detected.
 */
export type HighWater = {
  readonly mark_version: 1
  readonly network_name: string
  readonly written_at: string
  readonly crl: Head | null
  readonly feed: Head | null
  readonly evidence: Head | null
  /** The last anchor over the evidence. Older marks lack it. */
  readonly anchor?: Head | null
  readonly policy_versions: number
  readonly revoked_certificates: number
  readonly revoked_operator_keys: readonly RevokedKey[]
  /** Versions of all domains. They also detect the loss of changes without a sequence, for example an ended treaty. */
  readonly versions: Readonly<Record<string, number>>
  /**
   * The last signed list and feed as text. A recovery reads the entries that a restored database lacks from them. A large
   * list is null here and has a separate file (mark-file.ts).
   */
  readonly last_crl: string | null
  readonly last_feed: string | null
}

export type RevokedKey = {
  readonly key_id: string
  readonly revoked_at: string
  readonly reason: string
  readonly revoked_by: string
  /** Older marks lack it. */
  readonly public_key?: string | null
}

/** The file exists and is not a mark of this authority. An operator must check it; it is never overwritten. */
export class MarkFileError extends Error {
  override readonly name = 'MarkFileError'
}

/**
 * A mark is accepted only with our signature. Otherwise anyone who can write the folder could stop or mislead a start.
 */
export async function readMark(path: string, publicKeys: readonly string[]): Promise<HighWater | undefined> {
  let bytes: Buffer
  try {
    bytes = await readFile(path)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw new MarkFileError(`${path} cannot be read`, { cause: error })
  }
  const record = parse(bytes, path)
  const isOurs = record['mark_version'] === 1 && Array.isArray(record['signatures'])
  if (!isOurs || !(await verifyList(record as JsonObject & { signatures: Signature[] }, publicKeys)))
    throw new MarkFileError(`${path} is not a mark of this authority`)
  // Signed by this authority, and written by the function below only. The first marks had no versions.
  return { versions: {}, ...record } as unknown as HighWater
}

function parse(bytes: Uint8Array, path: string): JsonObject {
  try {
    const record = readJsonBytes(bytes)
    if (isJsonObject(record)) return record
  } catch (error) {
    if (!(error instanceof JsonError || error instanceof FormError)) throw error
  }
  throw new MarkFileError(`${path} is not a mark of this authority`)
}

/** The file is signed, complete and on disk when it returns. After a crash there is the old one or the new one. */
export async function writeMark(path: string, mark: HighWater, signer: AuthoritySigner): Promise<void> {
  const text = writeJson(await signList(mark as unknown as JsonObject, signer))
  // A separate name, because instances may share the folder.
  const temporary = `${path}.${randomBytes(4).toString('hex')}.new`
  const file = await open(temporary, 'w', 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(temporary, path)
  const folder = await open(dirname(path), 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/** Compared by content. Clocks of instances differ, so the time decides only between equal marks. */
export function isHigher(mark: HighWater, than: HighWater | undefined): boolean {
  if (than === undefined) return true
  const [a, b] = [rankOf(mark), rankOf(than)]
  const differs = a.findIndex((value, index) => value !== b[index])
  return differs !== -1 && (a[differs] ?? 0n) > (b[differs] ?? 0n)
}

function rankOf(mark: HighWater): readonly bigint[] {
  const heads = [mark.crl, mark.feed, mark.evidence].map((head) => BigInt(head?.sequence ?? -1))
  const changes = Object.values(mark.versions).reduce((sum, version) => sum + BigInt(version), 0n)
  const counts = [BigInt(mark.policy_versions), BigInt(mark.revoked_certificates), changes]
  return [...heads, ...counts, readInstant(mark.written_at) ?? 0n]
}

/** The list of a mark whose list is too large to be a member of it: gzip, next to the mark, named by its sequence. */
export function listFileOf(markFile: string, sequence: number): string {
  return `${markFile}.list-${sequence}.gz`
}

/**
 * Writes the list of the next mark. Called before the mark is written, so that a mark always has its list. Does nothing
 * for a list that is in the mark itself.
 */
export async function writeListFile(db: Reader, markFile: string, { sequence }: Head): Promise<void> {
  const list = await findList(db, sequence)
  if (list === undefined || !isLargeList(list)) return
  const path = listFileOf(markFile, sequence)
  // A separate name, because instances may share the folder.
  const temporary = `${path}.${randomBytes(4).toString('hex')}.new`
  const file = await open(temporary, 'w', 0o600)
  try {
    // Unlike a single write, it writes all bytes or fails: a full disk must not leave a part of the list.
    for await (const piece of gzipOfList(db, list)) await file.appendFile(piece)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(temporary, path)
}

/** A finished list, or one that a killed process left. */
const LIST_NAME = /^(\d+)\.gz(?:\.[0-9a-f]{8}\.new)?$/

/** Removes lists of earlier marks. Called after the mark is written. */
export async function removeListFiles(markFile: string, before: number): Promise<void> {
  const start = `${basename(markFile)}.list-`
  for (const name of await readdir(dirname(markFile))) {
    const sequence = name.startsWith(start) ? LIST_NAME.exec(name.slice(start.length))?.[1] : undefined
    if (sequence !== undefined && Number(sequence) < before) await rm(join(dirname(markFile), name), { force: true })
  }
}

/** The text of the list that a mark names. Undefined when there is no file, or its digest is another one. */
export async function readListFile(markFile: string, { sequence, digest }: Head): Promise<string | undefined> {
  try {
    const bytes = await unzipList(await readFile(listFileOf(markFile, sequence)))
    return sha256Hex(bytes) === digest ? Buffer.from(bytes).toString('utf8') : undefined
  } catch (error) {
    // The caller names the file to the operator.
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT'
    if (isMissing || error instanceof DamagedListError) return undefined
    throw error
  }
}
