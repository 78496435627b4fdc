import { Refusal } from '@chancery/contract'
import { Thread, ThreadEndedError } from '@chancery/service-kit'
import type { FinishedList, ListStates } from './list-states.ts'

type Given<Name extends keyof ListStates> = Parameters<ListStates[Name]>[0]

/**
 * The thread in which large lists are built; started with the first one. Its states are lost when it ends, and a later
 * build reads the stored list again.
 */
export class ListBuilder {
  #thread: Thread | undefined
  #states = 0
  #builds = 0
  /** The first state of the running thread. */
  #first = 1

  /** Begins a state, empty or as a copy of one. */
  async open(from?: number): Promise<number> {
    this.#states += 1
    const state = this.#states
    if (this.#thread === undefined || this.#thread.hasEnded) {
      // The environment may hold the signing seed.
      this.#thread = new Thread('./list-thread', import.meta.url, { env: {} })
      this.#first = state
    }
    await this.#call('open', { state, from })
    return state
  }

  /** The state that was begun last. */
  get newest(): number {
    return this.#states
  }

  /** Whether a list is built. */
  get isBuilding(): boolean {
    return this.#builds > 0
  }

  /** Runs one build: what only prepares one gives way to it. */
  async build<Value>(work: () => Promise<Value>): Promise<Value> {
    this.#builds += 1
    try {
      return await work()
    } finally {
      this.#builds -= 1
    }
  }

  /** Whether the running thread has the state. */
  has(state: number): boolean {
    return this.#thread?.hasEnded === false && state >= this.#first
  }

  addStored(given: Given<'addStored'>): Promise<void> {
    return this.#call('addStored', given)
  }

  addTexts(given: Given<'addTexts'>): Promise<void> {
    return this.#call('addTexts', given)
  }

  verify(given: Given<'verify'>): Promise<boolean> {
    return this.#call('verify', given)
  }

  finish(given: Given<'finish'>): Promise<FinishedList> {
    return this.#call('finish', given)
  }

  seal(given: Given<'seal'>): Promise<string | undefined> {
    return this.#call('seal', given)
  }

  /** Called after COMMIT. */
  async keep(state: number): Promise<void> {
    if (this.has(state)) await this.#call('keep', { state })
  }

  /** Called when a build failed. A thread that ended has no states. */
  async discard(states: readonly number[]): Promise<void> {
    const known = states.filter((state) => this.has(state))
    if (known.length > 0) await this.#call('discard', { states: known })
  }

  async close(): Promise<void> {
    await this.#thread?.close()
  }

  async #call<Value>(operation: keyof ListStates, given: object): Promise<Value> {
    try {
      if (this.#thread === undefined) throw new ThreadEndedError('the thread has not started')
      return await this.#thread.call<Value>(operation, given)
    } catch (error) {
      // The transaction is rolled back, so the caller may try again.
      throw error instanceof ThreadEndedError
        ? new Refusal('service_unavailable', { reason: 'busy' }, { cause: error })
        : error
    }
  }
}
