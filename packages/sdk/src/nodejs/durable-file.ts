import { randomUUID } from 'node:crypto'
import { link, open, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'

/** Only the owner may read. */
export const OWNER_ONLY = 0o600
export const OWNER_ONLY_FOLDER = 0o700

/** Replaces a file atomically; durable when it resolves. */
export async function replaceFile(path: string, content: string | readonly Uint8Array[]): Promise<void> {
  const draft = join(dirname(path), `.${randomUUID()}.tmp`)
  try {
    await writeSynced(draft, content)
    await rename(draft, path)
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
  await syncFolder(dirname(path))
}

/** Creates a file that must not exist, atomically. */
export async function createFile(path: string, text: string): Promise<void> {
  const draft = join(dirname(path), `.${randomUUID()}.tmp`)
  try {
    await writeSynced(draft, text)
    await link(draft, path)
  } finally {
    await rm(draft, { force: true })
  }
  await syncFolder(dirname(path))
}

/** Sets the mode before the first byte, so that no other user can read a key. */
async function writeSynced(path: string, content: string | readonly Uint8Array[]): Promise<void> {
  const handle = await open(path, 'wx', OWNER_ONLY)
  try {
    await handle.writeFile(content)
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Makes a new or removed name survive a power failure; where folders cannot be synced, the system does it later. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => undefined)
  await handle?.sync().catch(() => undefined)
  await handle?.close()
}

export async function readIfThere(path: string): Promise<string | undefined> {
  return (await readBytesIfThere(path))?.toString('utf8')
}

export async function readBytesIfThere(path: string): Promise<Buffer | undefined> {
  try {
    return await readFile(path)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}
