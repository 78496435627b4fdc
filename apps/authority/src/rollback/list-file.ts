import { randomBytes } from 'node:crypto'
import { open, readFile, readdir, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { sha256Hex } from '@chancery/protocol'
import type { Reader } from '../database/database.ts'
import { DamagedListError, findList, gzipOfList, isLargeList, unzipList } from '../database/list-segments.ts'
import type { Head } from './mark-file.ts'

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
