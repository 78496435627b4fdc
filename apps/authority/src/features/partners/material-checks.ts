import { FairQueue, Thread, ThreadEndedError } from '@chancery/service-kit'
import { CHECKS } from './check-feed.ts'
import { StepFailureError } from './stored-facts.ts'

type Checks = typeof CHECKS
type Task<Name extends keyof Checks> = Parameters<Checks[Name]>[0]
type Found<Name extends keyof Checks> = Awaited<ReturnType<Checks[Name]>>
type Value<Name extends keyof Checks> = Extract<Found<Name>, { readonly value: unknown }>['value']

/** Above this size a document is read in another thread. */
const INLINE_BYTES = 262_144
/** A page of treaties has one signature for every 700 bytes. */
const INLINE_TREATY_BYTES = 16_384

/** A check in a thread takes about a second at most, and more on a busy machine. One that takes this long is ended. */
const CHECK_MS = 10_000
/** Documents of two partners at a time, one of each, so that no partner uses all threads. */
const TURNS = { atOnce: 2, shortMs: 0, restFactor: 0, restMaxMs: 0 }

interface CheckedPull {
  readonly partner: string
  readonly signal: AbortSignal
}

export interface RunsChecks {
  /** Throws {@link StepFailureError} for a document that does not hold. */
  run<Name extends keyof Checks>(name: Name, task: Task<Name>): Promise<Value<Name>>
}

/**
 * Checks small documents on the event loop and large ones in threads. Partners are served in turn. The work of a pull
 * that ended is dropped.
 */
export class MaterialChecks {
  readonly #turns = new FairQueue(TURNS)
  readonly #threads = new Set<Thread>()
  readonly #idle: Thread[] = []

  /** Checks for a pull of a partner, until its signal aborts. */
  until(partner: string, signal: AbortSignal): RunsChecks {
    return { run: (name, task) => this.#run(name, task, { partner, signal }) }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#threads].map((thread) => thread.close()))
  }

  async #run<Name extends keyof Checks>(name: Name, task: Task<Name>, pull: CheckedPull): Promise<Value<Name>> {
    const size = task.blocks.reduce((sum, block) => sum + block.length, 0)
    const isSmall = size <= (name === 'treaties' ? INLINE_TREATY_BYTES : INLINE_BYTES)
    const check = CHECKS[name] as (task: Task<Name>) => ReturnType<Checks[Name]>
    const found = isSmall ? await check(task) : await this.#inTurn(name, task, pull)
    if ('failure' in found) throw new StepFailureError(found.failure)
    return found.value
  }

  async #inTurn<Name extends keyof Checks>(name: Name, task: Task<Name>, pull: CheckedPull): Promise<Found<Name>> {
    const { partner, signal } = pull
    const slot = this.#turns.take(partner)
    const drop = (): void => slot.drop()
    signal.addEventListener('abort', drop)
    if (signal.aborted) drop()
    try {
      if (!(await slot.granted) || signal.aborted) throw new StepFailureError('timeout')
      return await this.#call(name, task, signal)
    } finally {
      signal.removeEventListener('abort', drop)
      slot.end()
    }
  }

  /** One call at a time in a thread, so that ending it ends the work of no other pull. */
  #call<Name extends keyof Checks>(name: Name, task: Task<Name>, signal: AbortSignal): Promise<Found<Name>> {
    const thread = this.#take()
    const limit = AbortSignal.any([signal, AbortSignal.timeout(CHECK_MS)])
    const end = (): void => void thread.close()
    limit.addEventListener('abort', end)
    const buffers = task.blocks.map(({ buffer }) => buffer)
    return thread
      .call<Found<Name>>(name, task, buffers)
      .catch((error: unknown) => {
        // A document that ends the thread is not readable.
        if (error instanceof ThreadEndedError) throw new StepFailureError(limit.aborted ? 'timeout' : 'malformed')
        throw error
      })
      .finally(() => {
        limit.removeEventListener('abort', end)
        if (thread.hasEnded || limit.aborted) this.#threads.delete(thread)
        else this.#idle.push(thread)
      })
  }

  #take(): Thread {
    const idle = this.#idle.pop()
    if (idle !== undefined && !idle.hasEnded) return idle
    const thread = new Thread('./material-thread', import.meta.url)
    this.#threads.add(thread)
    return thread
  }
}
