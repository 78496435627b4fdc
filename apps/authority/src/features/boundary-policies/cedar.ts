import { writeJson } from '@chancery/protocol'
import type { CedarAnswer, CedarQuestion, JsonValue, NoAnswer } from '@chancery/protocol'
import { SerialQueue } from '@chancery/service-kit'
import { Thread } from '@chancery/service-kit/threads'
import type { CedarResult, CedarTexts, CedarThreadData } from './cedar-thread.ts'
import { WaitingQuestions } from './waiting-questions.ts'

export type { CedarTexts } from './cedar-thread.ts'

const CEDAR_MODULE = '@cedar-policy/cedar-wasm/nodejs'

/** Reading 4 MB of WebAssembly takes up to a second on a busy machine. */
const LOAD_MS = 15_000
/** For all texts of one policy at publication. Its thread is new, so its first texts take longer on a busy machine. */
const CHECK_MS = 5000
/**
 * For the first use of a policy set, and for the check of each gate. A check does all the work of a first use, so a text
 * that passes publication can be used in this time.
 */
const PREPARE_MS = 3000
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

/** The thread was ended because it did not answer in time. */
class TimeLimitError extends Error {
  override readonly name = 'TimeLimitError'
}

/** What one gate gives to Cedar besides the request. */
export interface CedarGate extends CedarTexts {
  readonly entities: readonly JsonValue[]
}

/** missing: the package is not installed. failed: it cannot be started now. */
export type CedarState = 'ready' | 'missing' | 'failed'

export interface CedarEngine {
  /**
   * Problems of each gate of one policy, for its author, in their order. Each gate has a time limit, and all of them
   * together have one. Throws CedarMissingError without the package.
   */
  check(gates: readonly CedarGate[]): Promise<readonly (readonly string[])[]>
  /** Whether questions can be answered. Loads Cedar unless it is loaded. */
  probe(): Promise<CedarState>
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
    // One policy at a time, in a thread for it alone: while it is checked, decisions continue in the other one.
    check: (gates) =>
      checks.take(async () => {
        if (gates.length === 0) return []
        const thread = await threads.start()
        try {
          return await checkGates(thread, gates, now)
        } finally {
          await thread.close()
        }
      }),
    async probe() {
      try {
        if ((await threads.ready()) !== undefined) return 'ready'
      } catch {
        // The state of the threads says why.
      }
      return threads.isMissing ? 'missing' : 'failed'
    },
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

/** Whether Cedar can be used here, for a program that asks it nothing else. */
export async function probeCedar(): Promise<CedarState> {
  const cedar = openCedarEngine()
  try {
    return await cedar.probe()
  } finally {
    await cedar.close()
  }
}

/** After the limit, or after a failure inside WebAssembly, the thread is used no more. */
async function checkGates(
  thread: CedarThread,
  gates: readonly CedarGate[],
  now: () => number,
): Promise<readonly (readonly string[])[]> {
  const end = now() + CHECK_MS
  const found: (readonly string[])[] = []
  for (const { policySet, schema, entities } of gates) {
    const leftMs = end - now()
    try {
      const asked = { policySet, schema, entities: writeJson(entities) }
      found.push(await thread.check(asked, Math.min(leftMs, PREPARE_MS)))
    } catch (error) {
      found.push([error instanceof TimeLimitError ? tooSlow(leftMs) : 'Cedar cannot read the texts'])
      break
    }
  }
  return gates.map((_, index) => found[index] ?? ['not checked, because the check of another gate failed'])
}

/** Names the limit that ended a check: that of the gate, or that of all gates when less of it was left. */
function tooSlow(leftMs: number): string {
  if (leftMs < PREPARE_MS) return `the texts of the policy take longer than ${CHECK_MS} ms to check`
  return `the texts of the gate take longer than ${PREPARE_MS} ms to check`
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

  get isMissing(): boolean {
    return this.#triedAgainAt === Number.POSITIVE_INFINITY
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

  check(asked: CedarTexts & { readonly entities: string }, leftMs: number): Promise<readonly string[]> {
    return within(leftMs, this.#thread.call<readonly string[]>('check', asked))
  }

  close(): Promise<void> {
    return this.#thread.close()
  }
}

async function within<Value>(ms: number, work: Promise<Value>): Promise<Value> {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new TimeLimitError()), Math.max(0, ms))
  })
  try {
    return await Promise.race([work, limit])
  } finally {
    clearTimeout(timer)
  }
}
