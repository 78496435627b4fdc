import type { ChangeTopic } from '@chancery/contract'
import { isFollowing, onChanges } from '../changes.ts'
import { CallError } from '../client.ts'

const EVERY_MS = 15_000
/** While changes are reported. Times such as the last heartbeat change without one. */
const EVERY_WHEN_FOLLOWING_MS = 60_000
const MAX_BACK_OFF_MS = 120_000
/** Between two reads that follow changes. */
const GAP_MS = 1_000

/** Why a value is read. A list moves its rows only for its user. */
export type Cause = 'user' | 'itself'

export interface Polling<Value> {
  readonly load: () => Promise<Value>
  readonly onValue: (value: Value, cause: Cause) => void
  readonly onProblem: (problem: CallError, nextAt: number) => void
  /** What the value depends on. Empty: it is read by time only. */
  readonly topics: readonly ChangeTopic[]
  readonly gapMs?: number | undefined
  /** True: it also changes without a report, so it is read as often as without reports. */
  readonly isTimed?: boolean | undefined
  /** True: it is read once, and again for its user or after a failure. For answers that are too large to repeat. */
  readonly isOnce?: boolean | undefined
}

/** Reads a value now, after each reported change, and by time. Stops while the page is hidden. */
export class Poll<Value> {
  readonly #options: Polling<Value>
  readonly #subscriptions: readonly (() => void)[]
  #timer: ReturnType<typeof setTimeout> | undefined
  /** When the timer ends. */
  #dueAt = Number.POSITIVE_INFINITY
  #startedAt = 0
  /** After a failure. */
  #backOffMs: number | undefined
  #isRunning = false
  #isEnded = false
  /** A read that was requested during another one: the answer may be older than the request. */
  #next: Cause | undefined

  constructor(options: Polling<Value>) {
    this.#options = options
    const { topics } = options
    const onVisibility = (): void => {
      if (document.hidden) this.#stopTimer()
      else if (options.isOnce !== true || this.#backOffMs !== undefined) void this.#run('itself')
    }
    document.addEventListener('visibilitychange', onVisibility)
    this.#subscriptions = [
      () => document.removeEventListener('visibilitychange', onVisibility),
      ...(topics.length === 0 ? [] : [onChanges(topics, () => this.#request('itself'))]),
      isFollowing.subscribe(() => this.#planWithin(this.#everyMs)),
    ]
    void this.#run('user')
  }

  /** Reads now, for the user. */
  now(): void {
    this.#request('user')
  }

  end(): void {
    this.#isEnded = true
    this.#stopTimer()
    for (const end of this.#subscriptions) end()
  }

  get #everyMs(): number {
    const { topics, isTimed, isOnce } = this.#options
    if (isOnce === true) return Number.POSITIVE_INFINITY
    return topics.length > 0 && isTimed !== true && isFollowing.get() ? EVERY_WHEN_FOLLOWING_MS : EVERY_MS
  }

  get #gapLeftMs(): number {
    return Math.max(0, this.#startedAt + (this.#options.gapMs ?? GAP_MS) - Date.now())
  }

  #request(cause: Cause): void {
    if (this.#isRunning) this.#next = this.#next === 'user' ? 'user' : cause
    else if (cause === 'user') void this.#run(cause)
    else this.#planWithin(this.#gapLeftMs)
  }

  async #run(cause: Cause): Promise<void> {
    if (this.#isRunning || this.#isEnded) return
    this.#stopTimer()
    this.#isRunning = true
    this.#startedAt = Date.now()
    try {
      const value = await this.#options.load()
      this.#backOffMs = undefined
      if (!this.#isEnded) this.#options.onValue(value, cause)
    } catch (error) {
      if (this.#isEnded) return
      if (!(error instanceof CallError)) throw error
      this.#backOffMs = this.#backOffAfter(error)
      this.#options.onProblem(error, Date.now() + this.#backOffMs)
    } finally {
      this.#isRunning = false
      this.#goOn()
    }
  }

  #backOffAfter({ retryAfterSeconds }: CallError): number {
    if (retryAfterSeconds !== undefined) return retryAfterSeconds * 1000
    return Math.min((this.#backOffMs ?? EVERY_MS) * 2, MAX_BACK_OFF_MS)
  }

  #goOn(): void {
    const cause = this.#next
    this.#next = undefined
    if (cause === 'user') void this.#run(cause)
    else this.#plan(this.#backOffMs ?? (cause === undefined ? this.#everyMs : this.#gapLeftMs))
  }

  /** Reads no later than after this time, except after a failure. */
  #planWithin(milliseconds: number): void {
    if (this.#isRunning || this.#backOffMs !== undefined || Date.now() + milliseconds >= this.#dueAt) return
    this.#plan(milliseconds)
  }

  #plan(milliseconds: number): void {
    this.#stopTimer()
    if (document.hidden || this.#isEnded || milliseconds === Number.POSITIVE_INFINITY) return
    this.#dueAt = Date.now() + milliseconds
    this.#timer = setTimeout(() => void this.#run('itself'), milliseconds)
  }

  #stopTimer(): void {
    clearTimeout(this.#timer)
    this.#dueAt = Number.POSITIVE_INFINITY
  }
}
