import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import {
  FormError,
  JsonError,
  isJsonObject,
  readJson,
  readJsonBytes,
  signList,
  verifyList,
  writeJson,
} from '@chancery/protocol'
import type { JsonObject, Signature, Signer } from '@chancery/protocol'
import type { HighWater } from '../rollback/mark-file.ts'

/** The owner of the database, whose keys verify its own records. */
export interface InspectedAuthority {
  /** The current key first. */
  readonly publicKeys: readonly string[]
  readonly sovereign: string
}

/** Maximum size of a stored list. */
const LIMITS = { maxDepth: 64, maxValues: 2_000_000, maxNames: 200_000 }
/** Limits the findings, so that a database with many faults does not fill the memory. */
const MAX_PROBLEMS = 1000

/** The number of checked records, and the findings. */
export class InspectionNotes {
  readonly counts: Record<string, number> = {}
  readonly problems: string[] = []
  readonly #publicKeys: readonly string[]

  constructor(publicKeys: readonly string[]) {
    this.#publicKeys = publicKeys
  }

  saw(kind: string, count = 1): void {
    this.counts[kind] = (this.counts[kind] ?? 0) + count
  }

  problem(line: string): void {
    if (this.problems.length < MAX_PROBLEMS) this.problems.push(line)
  }

  /** Returns the stored text as an own record with a list of signatures. Undefined when it is none. */
  async ownRecord(kind: string, id: string, text: string): Promise<JsonObject | undefined> {
    this.saw(kind)
    const record = parse(text)
    if (record === undefined) this.problem(`${kind} ${id}: is not a record`)
    else if (!(await this.#isSigned(record))) this.problem(`${kind} ${id}: its signature does not verify`)
    return record
  }

  async #isSigned(record: JsonObject): Promise<boolean> {
    if (!Array.isArray(record['signatures'])) return false
    return verifyList(record as JsonObject & { signatures: Signature[] }, this.#publicKeys)
  }
}

export function parse(text: string): JsonObject | undefined {
  try {
    const record = readJson(text, LIMITS)
    return isJsonObject(record) ? record : undefined
  } catch {
    // An unreadable text is a finding, not a failure.
    return undefined
  }
}

/** Reads rows page by page after a key; `page` returns the next ones in its order. */
export async function* pages<Key, Row>(
  first: Key,
  page: (after: Key) => Promise<readonly Row[]>,
  keyOf: (row: Row) => Key,
): AsyncGenerator<Row> {
  for (let after = first; ;) {
    const rows = await page(after)
    yield* rows
    const last = rows.at(-1)
    if (last === undefined) return
    after = keyOf(last)
  }
}

/**
 * The description of a backup, signed by the authority, so that write access to the folder is not enough to forge one.
 */
export type BackupManifest = {
  readonly backup_version: 1
  readonly network_name: string
  readonly key_id: string
  readonly created_at: string
  /** The engine it was taken from. It can be restored into either. */
  readonly engine: 'sqlite' | 'postgres'
  readonly schema_version: number
  /** The state of the database. It includes the last list and feed. */
  readonly high_water: Omit<HighWater, 'last_crl' | 'last_feed'>
  /** Number of entries covered by the last checkpoint of the public evidence log. */
  readonly evidence_log_size: number
  /** Rows of each table. */
  readonly tables: Readonly<Record<string, number>>
  readonly parts: readonly BackupPart[]
}

export type BackupPart = { readonly name: string; readonly bytes: number; readonly sha256: string }

export const MANIFEST = 'manifest.json'
export const DATABASE_PART = 'database.sqlite'
export const GENESIS_PART = 'genesis.json'
export const HISTORY_PART = 'key-history.json'
const PARTS: readonly string[] = [DATABASE_PART, GENESIS_PART, HISTORY_PART]

/** Not a backup of this authority, or a changed one. */
export class BackupError extends Error {
  override readonly name = 'BackupError'
}

export async function describePart(folder: string, name: string): Promise<BackupPart> {
  const path = join(folder, name)
  const digest = createHash('sha256')
  for await (const chunk of createReadStream(path)) digest.update(chunk as Buffer)
  return { name, bytes: (await stat(path)).size, sha256: digest.digest('hex') }
}

/** Written last: a folder without it is not a backup. */
export async function writeManifest(folder: string, manifest: BackupManifest, signer: Signer): Promise<void> {
  const text = writeJson(await signList(manifest as unknown as JsonObject, signer))
  const file = await open(join(folder, MANIFEST), 'wx', 0o600)
  try {
    await file.writeFile(`${text}\n`)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Returns the manifest of a backup of this authority, after comparing every part. Throws BackupError otherwise. */
export async function openBackup(folder: string, authority: InspectedAuthority): Promise<BackupManifest> {
  const record = await readRecord(folder)
  const isOurs = record['backup_version'] === 1 && Array.isArray(record['signatures'])
  if (!isOurs || !(await verifyList(record as JsonObject & { signatures: Signature[] }, authority.publicKeys)))
    throw new BackupError(`${folder} is not a backup of this authority: its manifest does not verify`)
  // Signed by this authority, and written by the function above only.
  const manifest = record as unknown as BackupManifest
  if (manifest.network_name !== authority.sovereign)
    throw new BackupError(`${folder} is a backup of the network ${manifest.network_name}`)
  for (const part of manifest.parts) await checkPart(folder, part)
  return manifest
}

async function checkPart(folder: string, part: BackupPart): Promise<void> {
  // Only file names of the list above are ever opened.
  if (!PARTS.includes(part.name)) throw new BackupError(`${folder} has a part this release does not know`)
  let found: BackupPart
  try {
    found = await describePart(folder, part.name)
  } catch (error) {
    throw new BackupError(`${join(folder, part.name)} cannot be read`, { cause: error })
  }
  if (found.bytes !== part.bytes || found.sha256 !== part.sha256)
    throw new BackupError(`${join(folder, part.name)} is not what was backed up: it was cut or changed`)
}

async function readRecord(folder: string): Promise<JsonObject> {
  let bytes: Buffer
  try {
    bytes = await readFile(join(folder, MANIFEST))
  } catch (error) {
    throw new BackupError(`${folder} is not a backup: it has no ${MANIFEST}`, { cause: error })
  }
  try {
    const record = readJsonBytes(bytes)
    if (isJsonObject(record)) return record
  } catch (error) {
    if (!(error instanceof JsonError || error instanceof FormError)) throw error
  }
  throw new BackupError(`${join(folder, MANIFEST)} is not a manifest`)
}
