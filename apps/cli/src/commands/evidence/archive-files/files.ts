import { randomBytes } from 'node:crypto'
import { copyFile, constants, link, mkdir, readFile, readdir, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { CommandError } from '../../../errors/failure.ts'
import { errorCode, syncFolder, toFailure, writeNewFile } from '../../../files/files.ts'

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

export class ArchiveFolder implements ArchiveFiles {
  readonly #path: string

  constructor(path: string) {
    this.#path = path
  }

  async list(): Promise<readonly string[]> {
    const names: string[] = []
    for (const folder of FOLDERS) {
      const found = await readdir(join(this.#path, folder)).catch((error: unknown) => {
        if (errorCode(error) === 'ENOENT') return []
        throw toFailure(error, join(this.#path, folder), 'read')
      })
      names.push(...found.map((name) => `${folder}/${name}`))
    }
    return names.toSorted()
  }

  async read(name: string, maxBytes: number): Promise<Uint8Array | undefined> {
    const path = join(this.#path, name)
    try {
      const { size } = await stat(path)
      // A file that grew is not the one that was written: its beginning is enough to find that out.
      return size > maxBytes ? new Uint8Array(maxBytes + 1) : await readFile(path)
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return undefined
      throw toFailure(error, path, 'read')
    }
  }

  async create(name: string, content: Uint8Array): Promise<boolean> {
    const path = join(this.#path, name)
    const folder = dirname(path)
    await mkdir(folder, { recursive: true }).catch((error: unknown) => {
      throw toFailure(error, folder, 'made')
    })
    const draft = join(folder, `.${randomBytes(6).toString('hex')}.part`)
    try {
      await writeNewFile(draft, [content], OWNER_MAY_READ)
      await publish(draft, path)
    } catch (error) {
      if (errorCode(error) === 'EEXIST') return this.#compare(name, content)
      throw error instanceof CommandError ? error : toFailure(error, path, 'written')
    } finally {
      await rm(draft, { force: true })
    }
    await syncFolder(folder)
    return true
  }

  async #compare(name: string, content: Uint8Array): Promise<false> {
    const found = await this.read(name, content.length)
    if (found !== undefined && Buffer.compare(found, content) === 0) return false
    throw new CommandError({
      code: 'file_exists',
      message: `${join(this.#path, name)} exists already, with another content.`,
      hint: 'Another run writes to this archive, or the file was changed. Verify the archive: chancery evidence verify <folder>',
    })
  }
}

/** A second name for the finished file, because a rename would replace a file of that name. */
async function publish(draft: string, path: string): Promise<void> {
  try {
    await link(draft, path)
  } catch (error) {
    // Some file systems have one name for each file.
    if (!['EPERM', 'ENOTSUP', 'ENOSYS', 'EMLINK'].includes(errorCode(error) ?? '')) throw error
    await copyFile(draft, path, constants.COPYFILE_EXCL)
  }
}
