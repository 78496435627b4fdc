import { writeJson } from '@chancery/protocol'
import type { CedarAnswer, CedarQuestion, JsonValue, NoAnswer } from '@chancery/protocol'
import { SerialQueue } from '@chancery/service-kit'
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
/** Questions that wait. More are denied at once, since they would wait longer than their callers do. */
const MAX_WAITING = 500
/** Policy sets in the memory of one thread. A new thread begins without any. */
const MAX_PREPARED = 64

/** The package that contains Cedar cannot be loaded. */
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
  /** Never throws: a failure is an answer that denies. */
  ask(question: CedarQuestion, texts: CedarTexts): Promise<CedarAnswer | NoAnswer>
  close(): Promise<void>
}

/** Cedar of the optional package, loaded on first use. It runs in threads, so that no text can hold the event loop. */
export function openCedarEngine(module: string = CEDAR_MODULE): CedarEngine {
  const queue = new SerialQueue()
  let running: CedarThread | undefined
  let waiting = 0
  // Not tried again for each decision: a package that is installed later is found after a restart, or by a publication.
  let isMissing = false
  const start = async (): Promise<CedarThread> => {
    try {
      const thread = await CedarThread.start(module)
      isMissing = false
      return thread
    } catch (error) {
      isMissing = error instanceof CedarMissingError
      throw error
    }
  }
  const replace = async (): Promise<void> => {
    const ended = running
    running = undefined
    await ended?.close()
  }
  const askNext = async (question: CedarQuestion, texts: CedarTexts): Promise<CedarAnswer | NoAnswer> => {
    try {
      if (running === undefined || running.isFull) await replace()
      if (running === undefined && isMissing) return { kind: 'none', failure: 'engine_unavailable' }
      running ??= await start()
      return await running.ask(question, texts)
    } catch (error) {
      // After a failure inside WebAssembly its memory cannot be trusted, so the next question gets a new thread.
      await replace()
      return { kind: 'none', failure: error instanceof TimeLimitError ? 'time_limit' : 'engine_unavailable' }
    }
  }
  return {
    async check({ policySet, schema }, entities) {
      // A thread for this text alone: while it is checked, decisions continue in the other one.
      const thread = await start()
      try {
        return await thread.check({ policySet, schema, entities: writeJson(entities) })
      } catch (error) {
        const isSlow = error instanceof TimeLimitError
        return [isSlow ? `the texts take longer than ${PREPARE_MS} ms to check` : 'Cedar cannot read the texts']
      } finally {
        await thread.close()
      }
    },
    async ask(question, texts) {
      if (waiting >= MAX_WAITING) return { kind: 'none', failure: 'overloaded' }
      waiting += 1
      try {
        return await queue.take(() => askNext(question, texts))
      } finally {
        waiting -= 1
      }
    },
    close: () => queue.take(replace),
  }
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
      const version = await within(LOAD_MS, thread.call<string>('load', undefined))
      return new CedarThread(thread, version)
    } catch (error) {
      await thread.close()
      if (error instanceof TimeLimitError) throw error
      throw new CedarMissingError('Cedar cannot be loaded', { cause: error })
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
