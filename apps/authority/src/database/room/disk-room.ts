import { setTimeout as pause } from 'node:timers/promises'
import { DiskFullError } from '../errors.ts'

/**
 * What a write is for. `growth`: decisions and evidence, which callers cause in any number. `service`: everything else.
 * `revocation`: revocations, the lists that publish them, and the proof of the operator who asks.
 */
export type WriteKind = 'growth' | 'service' | 'revocation'

/**
 * The two parts of the reserve. Once the first is released, decisions and evidence are refused. Once the second is
 * released, only revocations are stored.
 */
export const PARTS = ['service', 'revocations'] as const
export type Part = (typeof PARTS)[number]

/** Mebibytes of each part. A thousand revocations need less than the second: tests/campaigns/operate/disk-full.ts. */
export const PART_BYTES: Readonly<Record<Part, number>> = { service: 8 << 20, revocations: 24 << 20 }

/** `missing`: it was never made here, or its files were not copied with the database. */
export type PartState = 'held' | 'released' | 'missing'
export type ReserveState = Readonly<Record<Part, PartState>>

/** Space as its file system reports it; undefined where this machine cannot see it. */
export interface FreeSpace {
  readonly freeBytes: number
  readonly diskBytes: number
}

/** How an engine holds and releases space. */
export interface Reserve {
  look(): Promise<ReserveState>
  /** Gives the space of the part back to the disk. It must work on a disk without a free byte. */
  release(part: Part): Promise<void>
  /**
   * Makes the parts that are not held, all or none. Throws where they do not fit, with room for other work, and when
   * `signal` aborts: what is made so far may be the room that another write lacks.
   */
  make(limitBytes: number, signal: AbortSignal): Promise<void>
  measure(): Promise<FreeSpace | undefined>
  isFull(error: unknown): boolean
  /** Makes the room of deleted list versions usable again, where the engine does this only when asked. */
  reclaim(): Promise<void>
}

const LIMIT_BYTES = 512 << 20
const LIMIT_PART = 0.05
const MEASURED_FOR_MS = 1000
const RECLAIM_EVERY = 20
/** Where free space is not seen, only trying shows whether the reserve fits, and takes that space for a moment. */
const TRY_EVERY_MS = 60_000
/** Another instance may be trying just now. */
const PAUSES_MS = [200, 500]

export interface RoomReport extends ReserveState {
  /** Whether a service holds it in this process. */
  readonly isKept: boolean
  readonly space: FreeSpace | undefined
  /** Below this many free bytes decisions and evidence are refused; undefined where free space is not seen. */
  readonly limitBytes: number | undefined
}

/**
 * Decides which writes a disk that fills up still takes: decisions and evidence end first, revocations last. Nothing is
 * held or released before `keep` was called: commands use a database without a reserve.
 */
export class DiskRoom {
  readonly #reserve: Reserve
  readonly #nowMs: () => number
  #configured: { readonly limitBytes: number | undefined } | undefined
  #state: ReserveState = { service: 'missing', revocations: 'missing' }
  #measured: { readonly atMs: number; readonly space: Promise<FreeSpace | undefined> } | undefined
  #releases = 0
  #releasing: Promise<void> = Promise.resolve()
  #sinceReclaim = 0
  #inUseSinceMs: number | undefined
  #making: AbortController | undefined
  #triedMs = Number.NEGATIVE_INFINITY

  constructor(reserve: Reserve, nowMs: () => number = () => performance.now()) {
    this.#reserve = reserve
    this.#nowMs = nowMs
  }

  /** True while revocations use space that was held for them or for the service. */
  get isReserveInUse(): boolean {
    return PARTS.some((part) => this.#state[part] === 'released')
  }

  /** For how long this process has seen it in use. */
  get reserveInUseMs(): number | undefined {
    if (!this.isReserveInUse) this.#inUseSinceMs = undefined
    else this.#inUseSinceMs ??= this.#nowMs()
    return this.#inUseSinceMs === undefined ? undefined : this.#nowMs() - this.#inUseSinceMs
  }

  /** Looks what is held, and makes what is not when there is room. Run at the start and by a job. */
  async keep(limitBytes: number | undefined): Promise<void> {
    this.#configured = { limitBytes }
    this.#state = await this.#reserve.look()
    if (PARTS.every((part) => this.#state[part] === 'held') || this.#making !== undefined) return
    const space = await this.#reserve.measure()
    const nowMs = this.#nowMs()
    if (space === undefined && nowMs - this.#triedMs < TRY_EVERY_MS) return
    this.#triedMs = nowMs
    this.#making = new AbortController()
    try {
      await this.#reserve.make(this.#limitOf(space) ?? PART_BYTES.service, this.#making.signal)
    } catch (error) {
      if (!this.#reserve.isFull(error)) throw error
      return
    } finally {
      this.#making = undefined
    }
    this.#state = await this.#reserve.look()
    this.#measured = undefined
  }

  /** As the disk is now. `limitBytes` is the setting, where no service has begun to use it here. */
  async report(limitBytes?: number): Promise<RoomReport> {
    const [state, space] = await Promise.all([this.#reserve.look(), this.#space()])
    const isKept = this.#configured !== undefined
    return { ...state, isKept, space, limitBytes: this.#limitOf(space, limitBytes) }
  }

  /** Why decisions and evidence are refused now; undefined while they are stored. */
  async refusesGrowth(): Promise<'free_space' | 'reserve_in_use' | undefined> {
    if (this.#configured === undefined) return undefined
    if (this.isReserveInUse) return 'reserve_in_use'
    const space = await this.#space()
    const limit = this.#limitOf(space)
    return space !== undefined && limit !== undefined && space.freeBytes < limit ? 'free_space' : undefined
  }

  /** Throws while only revocations are stored. */
  requireService(): void {
    if (this.#state.revocations === 'released') throw new DiskFullError('the disk is full: only revocations are stored')
  }

  /** Runs a write. On a full disk it releases what a write of this kind may use, and runs it again. */
  async run<Result>(kind: WriteKind, attempt: () => Promise<Result>): Promise<Result> {
    if (kind !== 'revocation') this.requireService()
    if (kind === 'growth' && this.isReserveInUse) throw new DiskFullError('the disk is full: no decision is stored')
    const pauses = [...PAUSES_MS]
    for (;;) {
      const releases = this.#releases
      try {
        return await attempt()
      } catch (error) {
        if (!this.#reserve.isFull(error)) throw error
        this.#making?.abort()
        if (await this.#makeRoom(kind, releases)) continue
        const pauseMs = kind === 'revocation' ? pauses.shift() : undefined
        if (pauseMs === undefined) throw new DiskFullError('the disk of the database is full', { cause: error })
        await pause(pauseMs)
      }
    }
  }

  /** After a revocation that was stored in the reserve. */
  async reclaim(): Promise<void> {
    this.#sinceReclaim += 1
    if (this.#sinceReclaim < RECLAIM_EVERY) return
    this.#sinceReclaim = 0
    await this.#reserve.reclaim()
  }

  /** Whether the write may be tried again: there is room that was not there when it began. */
  async #makeRoom(kind: WriteKind, releases: number): Promise<boolean> {
    // One after the other: a write that failed at the same time uses the same room.
    const turn = this.#releasing.then(() => this.#releaseNext(kind, releases))
    this.#releasing = turn.then(
      () => undefined,
      () => undefined,
    )
    return (await turn) && kind !== 'growth'
  }

  async #releaseNext(kind: WriteKind, releases: number): Promise<boolean> {
    if (this.#configured === undefined) return false
    if (this.#releases > releases) return true
    // Another instance may have released it.
    this.#state = await this.#reserve.look()
    const usable: readonly Part[] = kind === 'revocation' ? PARTS : ['service']
    const part = usable.find((each) => this.#state[each] === 'held')
    if (part === undefined) return false
    await this.#reserve.release(part)
    this.#state = { ...this.#state, [part]: 'released' }
    this.#releases += 1
    this.#inUseSinceMs ??= this.#nowMs()
    this.#measured = undefined
    return true
  }

  #limitOf(space: FreeSpace | undefined, given = this.#configured?.limitBytes): number | undefined {
    return space && (given ?? Math.min(LIMIT_BYTES, Math.floor(space.diskBytes * LIMIT_PART)))
  }

  #space(): Promise<FreeSpace | undefined> {
    const nowMs = this.#nowMs()
    if (this.#measured === undefined || nowMs - this.#measured.atMs >= MEASURED_FOR_MS)
      this.#measured = { atMs: nowMs, space: this.#reserve.measure() }
    return this.#measured.space
  }
}
