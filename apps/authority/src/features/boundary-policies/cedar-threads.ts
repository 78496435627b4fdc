import { type CedarAnswer, type CedarQuestion, type NoAnswer, writeJson } from '@chancery/protocol'
import { TimeLimitError, inTime } from '@chancery/service-kit'
import { Thread } from '@chancery/service-kit/threads'
import type { CedarResult, CedarTexts, CedarThreadData } from './cedar-thread.ts'

/** Reading 4 MB of WebAssembly takes up to a second on a busy machine. */
const LOAD_MS = 15_000
/**
 * For the first use of a policy set, and for the check of each gate. A check does all the work of a first use, so a text
 * that passes publication can be used in this time.
 */
export const PREPARE_MS = 3000
/** Usually less than one; a loaded machine needs more. */
const EVALUATION_MS = 1000
/** After Cedar could not be started, it is tried again after this time. */
const RETRY_MS = 30_000
/** Policy sets in the memory of one thread. A new thread begins without any. */
const MAX_PREPARED = 64

/** The package that contains Cedar is not installed. */
export class CedarMissingError extends Error {
  override readonly name = 'CedarMissingError'
}

/** Where Cedar is, and how urgent its work is. */
export interface CedarSource extends CedarThreadData {
  /** Milliseconds of a clock that only moves forward. */
  readonly now: () => number
}

/** One thread that answers questions, and its starts. */
export class CedarThreads {
  readonly #source: CedarSource
  #running: CedarThread | undefined
  #starting: Promise<CedarThread> | undefined
  // Not tried again for each decision: a package that is installed later is found after a restart, or by a publication.
  #triedAgainAt = 0
  #isClosed = false

  constructor(source: CedarSource) {
    this.#source = source
  }

  /** A new thread, for its caller alone. Its failure says nothing to those who share the other one. */
  async start(isUrgent: boolean): Promise<CedarThread> {
    const thread = await CedarThread.start(this.#source.module, isUrgent)
    this.#triedAgainAt = 0
    return thread
  }

  get isMissing(): boolean {
    return this.#triedAgainAt === Number.POSITIVE_INFINITY
  }

  /** One start for all who wait for it. Undefined when a start failed and is not tried again yet. */
  async ready(): Promise<CedarThread | undefined> {
    if (this.#running !== undefined) return this.#running
    if (this.#starting === undefined && (this.#isClosed || this.#source.now() < this.#triedAgainAt)) return undefined
    this.#starting ??= this.#startShared()
    return this.#starting
  }

  async #startShared(): Promise<CedarThread> {
    try {
      this.#running = await this.start(this.#source.isUrgent)
      return this.#running
    } catch (error) {
      const { now } = this.#source
      this.#triedAgainAt = error instanceof CedarMissingError ? Number.POSITIVE_INFINITY : now() + RETRY_MS
      throw error
    } finally {
      this.#starting = undefined
    }
  }

  /** One question at a time. Never throws: a failure is an answer that denies. */
  async ask(question: CedarQuestion, texts: CedarTexts): Promise<CedarAnswer | NoAnswer> {
    try {
      if (this.#running?.isFull === true) await this.#replace()
      const thread = await this.ready()
      return thread === undefined ? none('engine_unavailable') : await thread.ask(question, texts)
    } catch (error) {
      // After a failure inside WebAssembly its memory cannot be trusted, so the next question gets a new thread.
      await this.#replace()
      return none(error instanceof TimeLimitError ? 'time_limit' : 'engine_unavailable')
    }
  }

  async #replace(): Promise<void> {
    const ended = this.#running
    this.#running = undefined
    await ended?.close()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#starting?.catch(() => undefined)
    await this.#replace()
  }
}

function none(failure: NoAnswer['failure']): NoAnswer {
  return { kind: 'none', failure }
}

export class CedarThread {
  readonly #thread: Thread
  readonly #version: string
  readonly #prepared = new Map<string, boolean>()

  private constructor(thread: Thread, version: string) {
    this.#thread = thread
    this.#version = version
  }

  static async start(module: string, isUrgent: boolean): Promise<CedarThread> {
    const workerData: CedarThreadData = { module, isUrgent }
    const thread = new Thread('cedar-thread', import.meta.url, { workerData })
    try {
      const version = await inTime(thread.call<string | null>('load', undefined), LOAD_MS)
      if (version === null) throw new CedarMissingError('the package of Cedar is not installed')
      return new CedarThread(thread, version)
    } catch (error) {
      await thread.close()
      throw error
    }
  }

  get isFull(): boolean {
    return this.#prepared.size >= MAX_PREPARED
  }

  async ask(question: CedarQuestion, texts: CedarTexts): Promise<CedarAnswer | NoAnswer> {
    const engine_version = this.#version
    const key = `${question.policy_set_digest} ${question.schema_digest}`
    const isPrepared = this.#prepared.get(key) ?? (await this.#prepare(key, texts))
    if (!isPrepared) return { kind: 'none', failure: 'text_unavailable', engine_version }
    const { request, entities } = question
    const asked = { key, request: writeJson(request), entities: writeJson(entities) }
    const result = await inTime(this.#thread.call<CedarResult>('authorize', asked), EVALUATION_MS)
    if (result.decision === null) return { kind: 'none', failure: 'request_refused', engine_version }
    return { kind: 'cedar', engine_version, ...result }
  }

  async #prepare(key: string, texts: CedarTexts): Promise<boolean> {
    const isPrepared = await inTime(this.#thread.call<boolean>('prepare', { key, ...texts }), PREPARE_MS)
    this.#prepared.set(key, isPrepared)
    return isPrepared
  }

  check(asked: CedarTexts & { readonly entities: string }, leftMs: number): Promise<readonly string[]> {
    return inTime(this.#thread.call<readonly string[]>('check', asked), leftMs)
  }

  close(): Promise<void> {
    return this.#thread.close()
  }
}
