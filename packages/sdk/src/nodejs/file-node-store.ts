import { randomBytes, randomUUID } from 'node:crypto'
import { link, mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type Signer, readPrivateKeyFile, seedSigner, writePrivateKeyFile } from '@chancery/protocol'
import { UsageError } from '../errors.ts'
import type { NodeDocument, NodeStore } from '../node/followed.ts'

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
async function createFile(path: string, text: string): Promise<void> {
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

async function readIfThere(path: string): Promise<string | undefined> {
  return (await readBytesIfThere(path))?.toString('utf8')
}

async function readBytesIfThere(path: string): Promise<Buffer | undefined> {
  try {
    return await readFile(path)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}

/**
 * A node in a folder: node.key with mode 0600, certificate.json, crl.json, policy.json and others. It is the layout of
 * `chancery join`, so a node can begin on the command line and go on in a program.
 */
export class FileNodeStore implements NodeStore {
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
  }

  async signer(): Promise<Signer> {
    await mkdir(this.#folder, { recursive: true, mode: OWNER_ONLY_FOLDER })
    const path = join(this.#folder, 'node.key')
    const text = (await this.#readKey(path)) ?? (await this.#makeKey(path))
    const key = readPrivateKeyFile(text)
    if (key === undefined) throw new UsageError('node.key does not hold a private key')
    return seedSigner(key.keyId ?? 'node', key.value)
  }

  read(document: NodeDocument): Promise<string | undefined> {
    return readIfThere(this.#path(document))
  }

  async write(document: NodeDocument, text: string): Promise<void> {
    // A relying party has no key, so nothing made the folder before.
    await mkdir(this.#folder, { recursive: true, mode: OWNER_ONLY_FOLDER })
    await replaceFile(this.#path(document), `${text}\n`)
  }

  readBytes(document: NodeDocument): Promise<Uint8Array | undefined> {
    return readBytesIfThere(this.#path(document))
  }

  writeBytes(document: NodeDocument, pieces: readonly Uint8Array[]): Promise<void> {
    return replaceFile(this.#path(document), [...pieces, Buffer.from('\n')])
  }

  #path(document: NodeDocument): string {
    return join(this.#folder, `${document}.json`)
  }

  /** A key file that other users can read is not secret, so it is refused and not repaired silently. */
  async #readKey(path: string): Promise<string | undefined> {
    const text = await readIfThere(path)
    if (text === undefined) return undefined
    const { mode } = await stat(path)
    if (process.platform !== 'win32' && (mode & 0o077) !== 0)
      throw new UsageError('node.key is readable by others: its mode must be 0600')
    return text
  }

  async #makeKey(path: string): Promise<string> {
    const text = writePrivateKeyFile(randomBytes(32).toString('base64'), 'node')
    await createFile(path, text)
    return text
  }
}
