import { randomBytes } from 'node:crypto'
import { type FileHandle, access, constants, lstat, open, readFile, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { CommandError } from '../errors/failure.ts'
import { shellWord } from '../output/shell-word.ts'
import { readFileSync } from 'node:fs'

/** Mode of private keys and of files with paths to them: only the owner may read. */
export const OWNER_ONLY = 0o600
export const FOR_ALL = 0o644

export interface FileOwner {
  readonly uid: number
  readonly gid: number
}

/** Creates a file that must not exist. The mode applies from the first byte, so a key is never readable by others. */
export async function writeNewFile(
  path: string,
  content: string | readonly Uint8Array[],
  mode: number,
  owner?: FileOwner,
): Promise<void> {
  const handle = await open(path, 'wx', mode).catch((error: unknown) => {
    throw toFailure(error, path, 'written')
  })
  try {
    await handle.writeFile(content)
    // On the open file, because another process could replace the name with a link.
    if (owner !== undefined) await setOwner(handle, owner, mode)
    await handle.sync()
  } finally {
    await handle.close()
  }
}

async function setOwner(handle: FileHandle, { uid, gid }: FileOwner, mode: number): Promise<void> {
  const made = await handle.stat()
  if (made.uid !== uid || made.gid !== gid) await handle.chown(uid, gid)
  await handle.chmod(mode)
}

/** Checks before any change that the file does not exist; {@link writeNewFile} checks again. */
export async function refuseExisting(
  paths: readonly string[],
  hint = 'Choose another name, or move the file away first.',
): Promise<void> {
  for (const path of paths) {
    const found = await lstat(path).catch(() => undefined)
    if (found !== undefined) throw new CommandError({ code: 'file_exists', message: `${path} exists already.`, hint })
  }
}

/** Replaces a file atomically: after a crash the old or the new content is there. */
export async function replaceFile(
  path: string,
  content: string | readonly Uint8Array[],
  mode: number,
  owner?: FileOwner,
): Promise<void> {
  const draft = join(dirname(path), `.${basename(path)}.${randomBytes(6).toString('hex')}`)
  try {
    await writeNewFile(draft, content, mode, owner)
    await rename(draft, path)
  } catch (error) {
    await rm(draft, { force: true })
    throw error instanceof CommandError ? error : toFailure(error, path, 'replaced')
  }
  await syncFolder(dirname(path))
}

/**
 * Replaces a file that a service reads. Owner, group and mode stay: with a file that the service cannot read, it would
 * continue with the former content. A new file of root gets the owner of its folder.
 */
export async function replaceServiceFile(path: string, content: string): Promise<void> {
  const before = await stat(path).catch(() => undefined)
  const mode = before === undefined ? OWNER_ONLY : before.mode & 0o755
  const isRoot = process.getuid?.() === 0
  await replaceFile(path, content, mode, before ?? (isRoot ? await stat(dirname(path)) : undefined))
}

/** Makes the new name survive a power failure. Where folders cannot be synced, the system does it later. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => undefined)
  await handle?.sync().catch(() => undefined)
  await handle?.close()
}

export async function readBytes(path: string): Promise<Uint8Array> {
  return readFile(path).catch((error: unknown) => {
    throw toFailure(error, path, 'read')
  })
}

/** Reads a text; a larger file than `maxBytes` is refused before it is read. */
export async function readText(path: string, maxBytes?: number): Promise<string> {
  const found = maxBytes === undefined ? undefined : await stat(path).catch(() => undefined)
  if (maxBytes !== undefined && found !== undefined && found.size > maxBytes)
    throw new CommandError({
      code: 'file_too_large',
      message: `${path} has ${found.size} bytes. The limit is ${maxBytes}.`,
      hint: 'Ask for the file again: no record is this large.',
    })
  return readFile(path, 'utf8').catch((error: unknown) => {
    throw toFailure(error, path, 'read')
  })
}

/** Refuses a file that cannot be read, before a part of the program reads it that reports this in another way. */
export async function requireReadable(cwd: string, file: string): Promise<void> {
  await access(resolve(cwd, file), constants.R_OK).catch((error: unknown) => {
    throw toFailure(error, file, 'read')
  })
}

export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file or folder',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EISDIR: 'it is a folder',
  ENOTDIR: 'a part of the path is not a folder',
  EEXIST: 'it exists already',
  ENOSPC: 'the disk is full',
  EROFS: 'the file system is read-only',
  EBUSY: 'it is in use',
}

const NEXT_STEPS: Readonly<Record<string, string>> = {
  ENOENT: 'Check the path.',
  EACCES: 'Check the owner and the permissions of the path.',
  EPERM: 'Check the owner and the permissions of the path.',
  EISDIR: 'Give a file.',
  ENOTDIR: 'Check the path.',
  EEXIST: 'Choose another name, or move the file away first.',
  ENOSPC: 'Free space on the disk, then try again.',
  EROFS: 'Choose a folder on a writable disk.',
  EBUSY: 'Stop the program that uses it, then try again.',
}

/** Returns an error of the file system as text, with the path that the user gave. */
export function toFailure(
  error: unknown,
  path: string,
  action: 'read' | 'written' | 'replaced' | 'made' | 'moved',
  hint?: string,
): CommandError {
  const code = errorCode(error)
  if (code === undefined) throw error
  const message = `${path} cannot be ${action}: ${REASONS[code] ?? code}.`
  const next = hint ?? NEXT_STEPS[code] ?? 'Check the path.'
  // A file to read that is not there is a wrong call in every command. What cannot be written is the machine.
  const failed = action === 'read' || code === 'ENOENT' ? 'file_error' : 'write_failed'
  return new CommandError({ code: code === 'EEXIST' ? 'file_exists' : failed, message, hint: next }, { cause: error })
}

/** Returns a path for a command line: relative below the current folder, else absolute, quoted when needed. */
export function typed(cwd: string, path: string): string {
  const near = relative(cwd, path)
  return shellWord(near === '' || near.startsWith('..') ? path : `./${near}`)
}

/** The page without a pack, which `npm run build` makes. Sources and build are at the same depth. */
const PAGE = new URL('../../dist/evidence-page/page.html', import.meta.url)

/** Returns the page of this release, without a pack. Read with node:fs, because the one-file build carries it there. */
export function loadPageTemplate(): string {
  return readFileSync(PAGE, 'utf8')
}

/** Returns the page of this release, or undefined when this installation has none. */
export function findPageTemplate(): string | undefined {
  try {
    return loadPageTemplate()
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    throw error
  }
}
