import { randomBytes } from 'node:crypto'
import { type FileHandle, constants, copyFile, link, mkdir, open, readdir, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { CommandError } from '../../../errors/failure.ts'
import { errorCode, syncFolder, toFailure, writeNewFile } from '../../../files/files.ts'
import { withRegularFile } from '../../../files/regular-file.ts'

/** Files are never changed after they were written. */
const OWNER_MAY_READ = 0o400

const FOLDERS = ['manifests', 'segments'] as const

/** Where an archive is stored: names and contents, each written once. A folder, or any object store. */
export interface ArchiveFiles {
  /** Every name, for example `manifests/00000001.json`. */
  list(): Promise<readonly string[]>
  /** Undefined when there is no such file. A file with more bytes is read up to one byte more. */
  read(name: string, maxBytes: number): Promise<Uint8Array | undefined>
  /** Creates a file that is complete when its name appears. Returns false when the same file was there before. */
  create(name: string, content: Uint8Array): Promise<boolean>
}

/** What makes files survive a power failure. Tests record and replace it. */
interface DiskCalls {
  readonly link: (from: string, to: string) => Promise<void>
  readonly syncFile: (path: string) => Promise<void>
  readonly syncFolder: (path: string) => Promise<void>
}

const DISK: DiskCalls = { link, syncFile, syncFolder }

export class ArchiveFolder implements ArchiveFiles {
  readonly #path: string
  readonly #disk: DiskCalls

  constructor(path: string, disk: DiskCalls = DISK) {
    this.#path = path
    this.#disk = disk
  }

  async list(): Promise<readonly string[]> {
    const names: string[] = []
    for (const folder of FOLDERS) {
      const found = await readdir(join(this.#path, folder)).catch((error: unknown) => {
        if (errorCode(error) === 'ENOENT') return []
        throw toFailure(error, join(this.#path, folder), 'read')
      })
      for (const name of found) names.push(`${folder}/${name}`)
    }
    return names.toSorted()
  }

  async read(name: string, maxBytes: number): Promise<Uint8Array | undefined> {
    const path = join(this.#path, name)
    // A file that grew is not the one that was written: its beginning is enough to find that out.
    const found = await withRegularFile(path, 'follow', async (handle, size) =>
      size > maxBytes ? new Uint8Array(maxBytes + 1) : readBytes(handle, size),
    ).catch((error: unknown) => {
      throw toFailure(error, path, 'read')
    })
    return typeof found === 'string' ? undefined : found
  }

  async create(name: string, content: Uint8Array, mode = OWNER_MAY_READ): Promise<boolean> {
    const path = join(this.#path, name)
    const folder = dirname(path)
    await this.#makeFolder(folder)
    const draft = join(folder, `.${randomBytes(6).toString('hex')}.part`)
    try {
      await writeNewFile(draft, [content], mode)
      await this.#publish(draft, path)
    } catch (error) {
      if (errorCode(error) === 'EEXIST') return await this.#compare(name, content)
      throw error instanceof CommandError ? error : toFailure(error, path, 'written')
    } finally {
      await rm(draft, { force: true })
    }
    await this.#disk.syncFolder(folder)
    return true
  }

  async #compare(name: string, content: Uint8Array): Promise<false> {
    const path = join(this.#path, name)
    const found = await this.read(name, content.length)
    if (found !== undefined && Buffer.compare(found, content) === 0) {
      // The run that wrote it may have ended before the name was on the disk.
      await this.#disk.syncFolder(dirname(path))
      return false
    }
    throw new CommandError({
      code: 'file_exists',
      message: `${path} exists already, with another content.`,
      hint: 'Another run writes to this archive, or the file was changed. Verify the archive: chancery verify <folder>',
    })
  }

  /** Creates a folder. Its name, and those of folders above it, are on the disk before a file in it counts. */
  async #makeFolder(folder: string): Promise<void> {
    const first = await mkdir(folder, { recursive: true }).catch((error: unknown) => {
      throw toFailure(error, folder, 'made')
    })
    if (first === undefined) return
    for (let made = folder; ; made = dirname(made)) {
      await this.#disk.syncFolder(dirname(made))
      if (made === first || made === dirname(made)) return
    }
  }

  /** A second name for the finished file, because a rename would replace a file of that name. */
  async #publish(draft: string, path: string): Promise<void> {
    try {
      await this.#disk.link(draft, path)
    } catch (error) {
      // Some file systems have one name for each file.
      if (!['EPERM', 'ENOTSUP', 'ENOSYS', 'EMLINK'].includes(errorCode(error) ?? '')) throw error
      await copyFile(draft, path, constants.COPYFILE_EXCL)
      // Entries leave the database when the archive has them: a copy in the memory of the system is not enough.
      await this.#disk.syncFile(path)
    }
  }
}

async function readBytes(handle: FileHandle, size: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(size)
  let at = 0
  while (at < size) {
    const { bytesRead } = await handle.read(bytes, at, size - at, at)
    if (bytesRead === 0) break
    at += bytesRead
  }
  return bytes.subarray(0, at)
}

async function syncFile(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
