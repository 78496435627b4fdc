import { chmod, mkdir, readFile, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type JsonObject, isJsonObject, member, readJson, writeJson } from '@chancery/protocol'
import { ChanceryError, UsageError } from '../errors.ts'
import { type Outbox, type OutboxContent, type OutboxEntry, isRunning, outboxId } from '../governed/outbox.ts'
import { OWNER_ONLY, OWNER_ONLY_FOLDER, replaceFile, syncFolder } from './file-node-store.ts'

/** Another process uses this folder. */
export class StoreInUseError extends ChanceryError {
  override readonly name: string = 'StoreInUseError'
  readonly kind = 'store_in_use'
}

interface Ownership {
  release(): void
}

/** A process that has just ended may still have the lock for a moment. */
const WAIT_MS = 500

/**
 * One owner at a time. The operating system locks a separate file, so that the lock ends with its process
 * in every case. A file with a process id would stay after a crash.
 */
function acquireFileLock(lockFile: string): Ownership {
  // Loaded here: Node.js 22 prints a warning when a program loads it.
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite')
  const lock = new DatabaseSync(lockFile, { timeout: WAIT_MS })
  try {
    lock.exec('pragma locking_mode = exclusive; begin exclusive')
  } catch (error) {
    lock.close()
    throw new StoreInUseError('another process uses this folder', { cause: error })
  }
  return { release: () => lock.close() }
}

const FORMAT = 'gm.evidence.outbox.v1'
const NAME = /^(\d{12})\.json(\.unreadable)?$/

/**
 * An outbox in a separate folder, one file per entry. After a crash an entry is complete or absent.
 * A file that cannot be read is renamed and reported, never deleted.
 */
export class FileOutbox implements Outbox {
  readonly isExclusive: boolean = true
  readonly #folder: string
  readonly #ownership: Ownership
  readonly #entries = new Map<string, OutboxEntry>()
  #last: number
  #isClosed = false
  /** Names of files that could not be read and were renamed, now or earlier. */
  readonly unreadable: readonly string[]

  private constructor(folder: string, ownership: Ownership, found: Found) {
    this.#folder = folder
    this.#ownership = ownership
    this.#last = found.last
    this.unreadable = found.unreadable
    for (const entry of found.entries) this.#entries.set(entry.id, entry)
  }

  /** Opens or creates the folder. Throws {@link StoreInUseError} while another process has it open. */
  static async open(folder: string): Promise<FileOutbox> {
    await mkdir(folder, { recursive: true, mode: OWNER_ONLY_FOLDER })
    const ownership = acquireFileLock(join(folder, 'owner.lock'))
    try {
      await chmod(join(folder, 'owner.lock'), OWNER_ONLY)
      return new FileOutbox(folder, ownership, await readFolder(folder))
    } catch (error) {
      ownership.release()
      throw error
    }
  }

  async add(content: OutboxContent): Promise<OutboxEntry> {
    this.#last += 1
    const entry = { ...content, id: outboxId(this.#last) }
    await this.update(entry)
    return entry
  }

  async update(entry: OutboxEntry): Promise<void> {
    this.#requireOpen()
    const { id, ...content } = entry
    const text = writeJson({ format: FORMAT, ...(content as unknown as JsonObject) })
    await replaceFile(this.#path(id), `${text}\n`)
    this.#entries.set(id, entry)
  }

  async remove(id: string): Promise<void> {
    this.#requireOpen()
    await rm(this.#path(id), { force: true })
    await syncFolder(this.#folder)
    this.#entries.delete(id)
  }

  list(): Promise<readonly OutboxEntry[]> {
    return Promise.resolve([...this.#entries.values()])
  }

  /**
   * Releases the folder. Throws while an action runs: the next owner would record it as
   * interrupted, and its evidence could no longer be stored.
   */
  async close(): Promise<void> {
    if (this.#isClosed) return
    for (const entry of this.#entries.values())
      if (entry.state === 'started' && isRunning(entry.intent.evidence_id))
        throw new UsageError('an action is under way: its evidence would be lost')
    this.#isClosed = true
    this.#ownership.release()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #path(id: string): string {
    return join(this.#folder, `${id}.json`)
  }

  /** Without the lock another process may write the same names. */
  #requireOpen(): void {
    if (this.#isClosed) throw new UsageError('this outbox is closed')
  }
}

interface Found {
  readonly entries: readonly OutboxEntry[]
  readonly unreadable: readonly string[]
  readonly last: number
}

async function readFolder(folder: string): Promise<Found> {
  const names = (await readdir(folder)).toSorted()
  const [entries, unreadable]: [OutboxEntry[], string[]] = [[], []]
  let last = 0
  for (const name of names) {
    const [, id, aside] = NAME.exec(name) ?? []
    // An incomplete file of a process that ended; it never became an entry.
    if (name.endsWith('.tmp')) await rm(join(folder, name), { force: true })
    if (id === undefined) continue
    // Numbers of renamed files are not used again, because the files may be restored.
    last = Math.max(last, Number(id))
    const entry = aside === undefined ? toEntry(id, await readFile(join(folder, name), 'utf8')) : undefined
    if (entry !== undefined) entries.push(entry)
    else if (aside !== undefined) unreadable.push(name)
    else {
      await rename(join(folder, name), join(folder, `${name}.unreadable`))
      unreadable.push(`${name}.unreadable`)
    }
  }
  if (unreadable.length > 0) await syncFolder(folder)
  return { entries, unreadable, last }
}

/** Accepts only the form of this release. Any other entry is of another release, or damaged. */
function toEntry(id: string, text: string): OutboxEntry | undefined {
  try {
    const value = readJson(text)
    if (!isJsonObject(value) || member(value, 'format') !== FORMAT) return undefined
    const { format: _format, ...content } = value
    const state = member(content, 'state')
    const isWhole =
      state === 'started'
        ? isJsonObject(member(content, 'intent'))
        : (state === 'pending' || state === 'dead_letter') && isJsonObject(member(content, 'record'))
    return isWhole ? ({ ...content, id } as unknown as OutboxEntry) : undefined
  } catch {
    return undefined
  }
}
