import { SharedRead } from '@chancery/service-kit'
import { DiskFullError } from './errors.ts'

/** How long the result is cached: a locked database, or one that became a standby, must be reported quickly. */
const CACHED_MS = 1000
/** Between commits a write that is undone is enough: it waits for no disk. */
const COMMIT_EVERY_MS = 10_000
const GROW_EVERY_MS = 30_000
/**
 * Small writes may still succeed where larger ones do not: after a refused one the instance is not ready for this long.
 */
const FULL_FOR_MS = 10_000

export interface ProbeWork {
  /** Commits one row, always the same. */
  commit(): Promise<void>
  /** Writes the same row and takes it back. */
  writeUndone(): Promise<void>
  /** Throws when files cannot grow: a row that is changed in place does not need them to. Only a full disk counts. */
  grow(): Promise<void>
  /** Whether an error of the engine says that the disk is full. */
  isFull(error: unknown): boolean
  readonly nowMs?: () => number
}

/**
 * Whether the database takes writes, asked by as many as like and answered by few writes: one in a second that is
 * undone, one in ten that is committed. Writes of callers that met a full disk count, too.
 */
export class WriteProbe {
  readonly #work: ProbeWork
  readonly #nowMs: () => number
  readonly #runs: SharedRead<void>
  #last: { readonly atMs: number; readonly error: unknown } | undefined
  #committedMs = Number.NEGATIVE_INFINITY
  #grownMs = Number.NEGATIVE_INFINITY
  #refusedMs = Number.NEGATIVE_INFINITY

  constructor(work: ProbeWork) {
    this.#work = work
    this.#nowMs = work.nowMs ?? (() => performance.now())
    this.#runs = new SharedRead(() => this.#run())
  }

  async check(): Promise<void> {
    if (!this.#isKnown()) await this.#runs.read()
    if (this.#last?.error !== undefined) throw this.#last.error
    if (this.#nowMs() - this.#refusedMs < FULL_FOR_MS) throw new DiskFullError('a write lately met a full disk')
  }

  /** Another server may answer now. */
  doubt(): void {
    this.#last = undefined
    this.#committedMs = Number.NEGATIVE_INFINITY
  }

  /** For writes of callers: passes the error on, and records a full disk. */
  readonly refused = (error: unknown): never => {
    if (this.#work.isFull(error)) {
      this.#refusedMs = this.#nowMs()
      this.#grownMs = Number.NEGATIVE_INFINITY
      this.doubt()
    }
    throw error
  }

  #isKnown(): boolean {
    return this.#last !== undefined && this.#nowMs() - this.#last.atMs < CACHED_MS
  }

  async #run(): Promise<void> {
    // Those who waited for the run before this one have their answer already.
    if (this.#isKnown()) return
    const requireFull = (error: unknown): void => {
      // A server that forbids tables to this role, or altogether, still takes writes.
      if (this.#isFull(error)) throw error
    }
    try {
      const grows = this.#nowMs() - this.#grownMs >= GROW_EVERY_MS
      // Together: one after the other would take longer than a check may, where the database is far away.
      await Promise.all([this.#write(), ...(grows ? [this.#work.grow().catch(requireFull)] : [])])
      if (grows) this.#grownMs = this.#nowMs()
      this.#last = { atMs: this.#nowMs(), error: undefined }
    } catch (error) {
      this.#committedMs = Number.NEGATIVE_INFINITY
      this.#grownMs = Number.NEGATIVE_INFINITY
      const found = this.#isFull(error)
        ? new DiskFullError('the disk of the database is full', { cause: error })
        : error
      this.#last = { atMs: this.#nowMs(), error: found }
    }
  }

  #isFull(error: unknown): boolean {
    return error instanceof DiskFullError || this.#work.isFull(error)
  }

  async #write(): Promise<void> {
    if (this.#nowMs() - this.#committedMs < COMMIT_EVERY_MS) return this.#work.writeUndone()
    await this.#work.commit()
    this.#committedMs = this.#nowMs()
  }
}
