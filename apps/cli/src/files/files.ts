import { randomBytes } from 'node:crypto'
import { lstat, open, readFile, rename, rm } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import { CommandError } from '../errors/failure.ts'
import { shellWord } from '../output/shell-word.ts'

/** Mode of private keys and of files with paths to them: only the owner may read. */
export const OWNER_ONLY = 0o600
export const FOR_ALL = 0o644

/** Creates a file that must not exist. The mode applies from the first byte, so a key is never readable by others. */
export async function writeNewFile(path: string, content: string | readonly Uint8Array[], mode: number): Promise<void> {
  const handle = await open(path, 'wx', mode).catch((error: unknown) => {
    throw toFailure(error, path, 'written')
  })
  try {
    await handle.writeFile(content)
    await handle.sync()
  } finally {
    await handle.close()
  }
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
export async function replaceFile(path: string, content: string | readonly Uint8Array[], mode: number): Promise<void> {
  const draft = join(dirname(path), `.${basename(path)}.${randomBytes(6).toString('hex')}`)
  await writeNewFile(draft, content, mode)
  try {
    await rename(draft, path)
  } catch (error) {
    await rm(draft, { force: true })
    throw toFailure(error, path, 'replaced')
  }
  await syncFolder(dirname(path))
}

/** Makes the new name survive a power failure. Where folders cannot be synced, the system does it later. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => undefined)
  await handle?.sync().catch(() => undefined)
  await handle?.close()
}

export async function readBytes(path: string): Promise<Uint8Array> {
  return readFile(path).catch((error: unknown) => {
    throw toFailure(error, path, 'read')
  })
}

export async function readText(path: string): Promise<string> {
  return readFile(path, 'utf8').catch((error: unknown) => {
    throw toFailure(error, path, 'read')
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
  return new CommandError(
    { code: code === 'EEXIST' ? 'file_exists' : 'file_error', message, hint: next },
    { cause: error },
  )
}

/** Returns a path for a command line: relative below the current folder, else absolute, quoted when needed. */
export function typed(cwd: string, path: string): string {
  const near = relative(cwd, path)
  return shellWord(near === '' || near.startsWith('..') ? path : `./${near}`)
}
