import { randomBytes } from 'node:crypto'
import { open, readFile, rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import { FormError, JsonError, isJsonObject, readJsonBytes, signList, verifyList, writeJson } from '@chancery/protocol'
import type { JsonObject, Signature } from '@chancery/protocol'
import type { AuthoritySigner } from '../signing/signer.ts'

/** A number that only rises, and what stood under it. */
export type Head = { readonly sequence: number; readonly digest: string }

/** How far the database had come (reliability 12): kept outside it, so that an old backup cannot pass for the present. */
export type HighWater = {
  readonly mark_version: 1
  readonly network_name: string
  readonly written_at: string
  readonly crl: Head | null
  readonly feed: Head | null
  readonly evidence: Head | null
  /** The last anchor over the evidence; marks of before say nothing of it. */
  readonly anchor?: Head | null
  readonly policy_versions: number
  readonly revoked_certificates: number
  readonly revoked_operator_keys: readonly RevokedKey[]
  /** Version stamps of all domains: also what has no number of its own, a treaty that was ended, must not come back. */
  readonly versions: Readonly<Record<string, number>>
  /** The last signed list and feed as they are: what a restored database has forgotten is read from them. */
  readonly last_crl: string | null
  readonly last_feed: string | null
}

export type RevokedKey = {
  readonly key_id: string
  readonly revoked_at: string
  readonly reason: string
  readonly revoked_by: string
}

/** The file is there and is not a mark of this authority: it must be looked at, never written over. */
export class MarkFileError extends Error {
  override readonly name = 'MarkFileError'
}

/** A mark is one of ours only with our signature: whoever may write the folder could otherwise stop or fool a start. */
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
  // Signed by ourselves, and written by the function below only; the first ones had no stamps.
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

/** Signed, whole and on the disk when it returns; a crash leaves the old one or the new one. */
export async function writeMark(path: string, mark: HighWater, signer: AuthoritySigner): Promise<void> {
  const text = writeJson(await signList(mark as unknown as JsonObject, signer))
  // Its own name: instances may share the folder.
  const beside = `${path}.${randomBytes(4).toString('hex')}.new`
  const file = await open(beside, 'w', 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(beside, path)
  const folder = await open(dirname(path), 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
