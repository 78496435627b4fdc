import { Thread, ThreadEndedError } from '@chancery/service-kit'
import { CHECKS } from './checks.ts'
import { StepFailure } from './step-failure.ts'

type Checks = typeof CHECKS
type Task<Name extends keyof Checks> = Parameters<Checks[Name]>[0]
type Found<Name extends keyof Checks> = Awaited<ReturnType<Checks[Name]>>
type Value<Name extends keyof Checks> = Extract<Found<Name>, { readonly value: unknown }>['value']

/** Above this size a document is read in another thread. */
const INLINE_BYTES = 262_144
/** A page of treaties has one signature for every 700 bytes. */
const INLINE_TREATY_BYTES = 16_384

/** A check in the thread takes about a second at most. One that takes this long is ended. */
const CHECK_MS = 20_000

export interface RunsChecks {
  /** Throws {@link StepFailure} for a document that does not hold. */
  run<Name extends keyof Checks>(name: Name, task: Task<Name>): Promise<Value<Name>>
}

/**
 * Checks small documents on the event loop and large ones in a thread, one after another: a pull waits for one document
 * of each other pull at most. The work of a pull that ended is dropped.
 */
export class MaterialChecks {
  #thread: Thread | undefined
  #last: Promise<unknown> = Promise.resolve()

  /** Checks for a pull, until its signal aborts. */
  until(signal: AbortSignal): RunsChecks {
    return { run: (name, task) => this.#run(name, task, signal) }
  }

  async close(): Promise<void> {
    await this.#thread?.close()
  }

  async #run<Name extends keyof Checks>(name: Name, task: Task<Name>, signal: AbortSignal): Promise<Value<Name>> {
    const size = task.blocks.reduce((sum, block) => sum + block.length, 0)
    const isSmall = size <= (name === 'treaties' ? INLINE_TREATY_BYTES : INLINE_BYTES)
    const check = CHECKS[name] as (task: Task<Name>) => ReturnType<Checks[Name]>
    const found = isSmall ? await check(task) : await this.#inTurn(name, task, signal)
    if ('failure' in found) throw new StepFailure(found.failure)
    return found.value
  }

  #inTurn<Name extends keyof Checks>(name: Name, task: Task<Name>, signal: AbortSignal): Promise<Found<Name>> {
    return new Promise((resolve, reject) => {
      const end = (): void => reject(new StepFailure('timeout'))
      signal.addEventListener('abort', end)
      this.#last = this.#last
        .then(() => {
          if (signal.aborted) throw new StepFailure('timeout')
          return this.#call(name, task, signal)
        })
        .then(resolve, reject)
        .finally(() => signal.removeEventListener('abort', end))
    })
  }

  /** One call at a time, so that ending the thread ends the work of no other pull. */
  #call<Name extends keyof Checks>(name: Name, task: Task<Name>, signal: AbortSignal): Promise<Found<Name>> {
    const thread = this.#ready()
    const limit = AbortSignal.any([signal, AbortSignal.timeout(CHECK_MS)])
    const end = (): void => void thread.close()
    limit.addEventListener('abort', end)
    const buffers = task.blocks.map(({ buffer }) => buffer)
    return thread
      .call<Found<Name>>(name, task, buffers)
      .catch((error: unknown) => {
        // A document that ends the thread is not readable.
        if (error instanceof ThreadEndedError) throw new StepFailure(limit.aborted ? 'timeout' : 'malformed')
        throw error
      })
      .finally(() => limit.removeEventListener('abort', end))
  }

  #ready(): Thread {
    if (this.#thread === undefined || this.#thread.hasEnded)
      this.#thread = new Thread('./material-thread', import.meta.url)
    return this.#thread
  }
}
