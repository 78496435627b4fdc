import { writeJson } from '@chancery/protocol'
import type { CedarAnswer, CedarQuestion, JsonValue, NoAnswer } from '@chancery/protocol'
import { FairQueue, SerialQueue } from '@chancery/service-kit'
import { Thread } from '@chancery/service-kit/threads'
import type { CedarResult, CedarTexts, CedarThreadData } from './cedar-thread.ts'

export type { CedarTexts } from './cedar-thread.ts'

const CEDAR_MODULE = '@cedar-policy/cedar-wasm/nodejs'

/** Reading 4 MB of WebAssembly takes up to a second on a busy machine. */
const LOAD_MS = 15_000
/** For all texts of one policy at publication, and for the first use of a policy set. */
const PREPARE_MS = 2000
/** Usually less than one; a loaded machine needs more. */
const EVALUATION_MS = 1000
/** A question that waited this long for its turn is dropped. */
const MAX_WAIT_MS = 1000
/** Questions that wait, in total and of one caller. More are denied at once. */
const MAX_WAITING = 500
const MAX_WAITING_OF_CALLER = 128
/** After Cedar could not be started, it is tried again after this time. */
const RETRY_MS = 30_000
/** One question at a time, the callers in turn. */
const TURNS = { atOnce: 1, shortMs: 0, restFactor: 0, restMaxMs: 0 }
/** Policy sets in the memory of one thread. A new thread begins without any. */
const MAX_PREPARED = 64

/** The package that contains Cedar is not installed. */
export class CedarMissingError extends Error {
  override readonly name = 'CedarMissingError'
}

/** The thread was ended because it did not answer in time. */
class TimeLimitError extends Error {
  override readonly name = 'TimeLimitError'
}

export interface CedarEngine {
  /** Problems of the texts of one gate, for its author. Throws CedarMissingError without the package. */
  check(texts: CedarTexts, entities: readonly JsonValue[]): Promise<readonly string[]>
  /** Never throws: a failure is an answer that denies. Callers are served in turn. */
  ask(question: CedarQuestion, texts: CedarTexts, caller?: string): Promise<CedarAnswer | NoAnswer>
  close(): Promise<void>
}

/**
 * Cedar of the optional package, loaded on first use. It runs in threads, so that no text can hold the event loop.
 * `now` returns milliseconds of a clock that only moves forward.
 */
export function openCedarEngine(
  module: string = CEDAR_MODULE,
  now: () => number = () => performance.now(),
): CedarEngine {
  const threads = new CedarThreads(module, now)
  const waiting = new WaitingQuestions()
  const checks = new SerialQueue()
  const askNext = async (question: CedarQuestion, texts: CedarTexts): Promise<CedarAnswer | NoAnswer> => {
    try {
      const thread = await threads.ready()
      return thread === undefined ? none('engine_unavailable') : await thread.ask(question, texts)
    } catch (error) {
      // After a failure inside WebAssembly its memory cannot be trusted, so the next question gets a new thread.
      await threads.replace()
      return none(error instanceof TimeLimitError ? 'time_limit' : 'engine_unavailable')
    }
  }
  return {
    // One at a time, in a thread for this text alone: while it is checked, decisions continue in the other one.
    check: ({ policySet, schema }, entities) =>
      checks.take(async () => {
        const thread = await threads.start()
        try {
          return await thread.check({ policySet, schema, entities: writeJson(entities) })
        } catch (error) {
          const isSlow = error instanceof TimeLimitError
          return [isSlow ? `the texts take longer than ${PREPARE_MS} ms to check` : 'Cedar cannot read the texts']
        } finally {
          await thread.close()
        }
      }),
    async ask(question, texts, caller = '') {
      // The time of the first start is no waiting for other questions. A failure is found again by askNext.
      await threads.ready().catch(() => undefined)
      return waiting.take(caller, async () => {
        await threads.replaceFull()
        return askNext(question, texts)
      })
    },
    close: () => threads.close(),
  }
}

/** The thread that answers questions, and its starts. */
class CedarThreads {
  readonly #module: string
  readonly #now: () => number
  #running: CedarThread | undefined
  #starting: Promise<CedarThread> | undefined
  // Not tried again for each decision: a package that is installed later is found after a restart, or by a publication.
  #triedAgainAt = 0
  #isClosed = false

  constructor(module: string, now: () => number) {
    this.#module = module
    this.#now = now
  }

  /** A new thread, for its caller alone. */
  async start(): Promise<CedarThread> {
    try {
      const thread = await CedarThread.start(this.#module)
      this.#triedAgainAt = 0
      return thread
    } catch (error) {
      this.#triedAgainAt = error instanceof CedarMissingError ? Number.POSITIVE_INFINITY : this.#now() + RETRY_MS
      throw error
    }
  }

  /** One start for all who wait for it. Undefined when a start failed and is not tried again yet. */
  async ready(): Promise<CedarThread | undefined> {
    if (this.#running !== undefined) return this.#running
    if (this.#starting === undefined && (this.#isClosed || this.#now() < this.#triedAgainAt)) return undefined
    this.#starting ??= this.#startShared()
    return this.#starting
  }

  async #startShared(): Promise<CedarThread> {
    try {
      this.#running = await this.start()
      return this.#running
    } finally {
      this.#starting = undefined
    }
  }

  async replace(): Promise<void> {
    const ended = this.#running
    this.#running = undefined
    await ended?.close()
  }

  async replaceFull(): Promise<void> {
    if (this.#running?.isFull === true) await this.replace()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#starting?.catch(() => undefined)
    await this.replace()
  }
}

/** Runs one question at a time, those of different callers in turn, and none that waited too long. */
class WaitingQuestions {
  readonly #queue = new FairQueue(TURNS)
  readonly #waiting = new Map<string, number>()
  #total = 0

  async take<Answer>(caller: string, work: () => Promise<Answer>): Promise<Answer | NoAnswer> {
    const own = this.#waiting.get(caller) ?? 0
    if (this.#total >= MAX_WAITING || own >= MAX_WAITING_OF_CALLER) return none('overloaded')
    this.#count(caller, 1)
    const slot = this.#queue.take(caller)
    const limit = setTimeout(() => slot.drop(), MAX_WAIT_MS)
    const isGranted = await slot.granted
    clearTimeout(limit)
    this.#count(caller, -1)
    if (!isGranted) return none('overloaded')
    try {
      return await work()
    } finally {
      slot.end()
    }
  }

  #count(caller: string, change: number): void {
    const own = (this.#waiting.get(caller) ?? 0) + change
    this.#total += change
    if (own === 0) this.#waiting.delete(caller)
    else this.#waiting.set(caller, own)
  }
}

function none(failure: NoAnswer['failure']): NoAnswer {
  return { kind: 'none', failure }
}

class CedarThread {
  readonly #thread: Thread
  readonly #version: string
  readonly #prepared = new Map<string, boolean>()

  private constructor(thread: Thread, version: string) {
    this.#thread = thread
    this.#version = version
  }

  static async start(module: string): Promise<CedarThread> {
    const thread = new Thread('cedar-thread', import.meta.url, { workerData: { module } satisfies CedarThreadData })
    try {
      const version = await within(LOAD_MS, thread.call<string | null>('load', undefined))
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
    const result = await within(EVALUATION_MS, this.#thread.call<CedarResult>('authorize', asked))
    if (result.decision === null) return { kind: 'none', failure: 'request_refused', engine_version }
    return { kind: 'cedar', engine_version, ...result }
  }

  async #prepare(key: string, texts: CedarTexts): Promise<boolean> {
    const isPrepared = await within(PREPARE_MS, this.#thread.call<boolean>('prepare', { key, ...texts }))
    this.#prepared.set(key, isPrepared)
    return isPrepared
  }

  check(asked: CedarTexts & { readonly entities: string }): Promise<readonly string[]> {
    return within(PREPARE_MS, this.#thread.call<readonly string[]>('check', asked))
  }

  close(): Promise<void> {
    return this.#thread.close()
  }
}

async function within<Value>(ms: number, work: Promise<Value>): Promise<Value> {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new TimeLimitError()), ms)
  })
  try {
    return await Promise.race([work, limit])
  } finally {
    clearTimeout(timer)
  }
}
