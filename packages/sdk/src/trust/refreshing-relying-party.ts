import type { Instant, JoinCertificate } from '@chancery/protocol'
import { createClient } from '../client.ts'
import { RequestError } from '../errors.ts'
import { systemClock } from '../http/system-clock.ts'
import type { ConnectionOptions } from '../http/call.ts'
import { retrySeconds } from '../node/schedule.ts'
import { FollowedParty, type FollowedPartyOptions, type Refreshed } from './followed-party.ts'
import type { CertificateVerdict } from '../verify/relying-party.ts'

export interface RefreshingRelyingPartyOptions extends Omit<FollowedPartyOptions, 'client'>, ConnectionOptions {
  /** Time between two refreshes, from 1 to 86400; 30 when not given. After a failure the pause is 5 s, then doubles up to 60 s. */
  readonly refreshSeconds?: number
  /** Called after every refresh, with the outcome for the keys and for each list. */
  readonly onRefresh?: (result: Refreshed) => void
  /** Called when the authority could not be asked. The current list stays in use until it expires. */
  readonly onError?: (error: unknown) => void
  /** Waits between two refreshes; tests pass their own, like `clock`. Must reject when the signal aborts. */
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<void>
  /** From 0 up to 1, for the spread of refreshes. */
  readonly random?: () => number
}

/** For a health page of the service. */
export interface RefreshState {
  /** Time of the last refresh that reached the authority; undefined when none did. */
  readonly refreshedAt: Instant | undefined
  /** Failures in a row since then. */
  readonly failures: number
  readonly error: unknown
}

const USUAL_SECONDS = 30
const LONGEST_SECONDS = 86_400

/**
 * Verifies certificates like {@link FollowedParty} and refreshes keys and lists in the background until
 * {@link close}. Verification makes no network calls. It does not keep the process running.
 */
export class RefreshingRelyingParty {
  readonly #party: FollowedParty
  readonly #options: RefreshingRelyingPartyOptions
  readonly #stop = new AbortController()
  readonly #ended: Promise<void>
  #running: Promise<Refreshed> | undefined
  #state: RefreshState

  private constructor(party: FollowedParty, options: RefreshingRelyingPartyOptions) {
    this.#party = party
    this.#options = options
    // With lists of an earlier run, `open` succeeds also when the authority did not respond.
    const refreshedAt = options.lists === undefined ? this.#now() : undefined
    this.#state = { refreshedAt, failures: 0, error: undefined }
    this.#ended = this.#run()
  }

  /** Opens as {@link FollowedParty.open} does, with a client for `url`, and starts the refreshes. */
  static async open(options: RefreshingRelyingPartyOptions): Promise<RefreshingRelyingParty> {
    const { refreshSeconds = USUAL_SECONDS } = options
    // A timer of more than 24.8 days ends at once, and the party would ask without a pause.
    if (!(refreshSeconds >= 1 && refreshSeconds <= LONGEST_SECONDS))
      throw new RequestError(`refreshSeconds must be from 1 to ${LONGEST_SECONDS}`)
    const party = await FollowedParty.open({ ...options, client: createClient(options) })
    return new RefreshingRelyingParty(party, options)
  }

  /** The keys of the authority, as the root signed them last. */
  get keys(): FollowedParty['keys'] {
    return this.#party.keys
  }

  get state(): RefreshState {
    return this.#state
  }

  /** The sequence of the current list of a key id. */
  sequenceOf(issuer: string): number | undefined {
    return this.#party.sequenceOf(issuer)
  }

  /** Verifies one certificate without a network call. */
  evaluate(presented: JoinCertificate, now?: Instant): Promise<CertificateVerdict> {
    return this.#party.evaluate(presented, now)
  }

  /** Refreshes now, or waits for the refresh that is under way. Throws when the authority cannot be asked. */
  refresh(): Promise<Refreshed> {
    if (this.#stop.signal.aborted) return Promise.reject(new RequestError('the relying party is closed'))
    this.#running ??= this.#refresh().finally(() => (this.#running = undefined))
    return this.#running
  }

  /** Ends the refreshes. Verification continues until the current list expires. */
  async close(): Promise<void> {
    this.#stop.abort()
    await this.#ended
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #now(): Instant {
    return (this.#options.clock ?? systemClock)()
  }

  async #refresh(): Promise<Refreshed> {
    const { onRefresh, onError } = this.#options
    try {
      const result = await this.#party.refresh(this.#stop.signal)
      this.#state = { refreshedAt: this.#now(), failures: 0, error: undefined }
      onRefresh?.(result)
      return result
    } catch (error) {
      if (this.#stop.signal.aborted) throw error
      this.#state = { ...this.#state, failures: this.#state.failures + 1, error }
      onError?.(error)
      throw error
    }
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop
    const { sleep = restUnreferenced } = this.#options
    while (!signal.aborted) {
      // Both end with an exception when the party is closed. Failures of a refresh are in the state and in onError.
      await sleep(this.#pauseSeconds() * 1000, signal).catch(() => undefined)
      if (!signal.aborted) await this.refresh().catch(() => undefined)
    }
  }

  #pauseSeconds(): number {
    const { random = Math.random, refreshSeconds = USUAL_SECONDS } = this.#options
    const { failures, refreshedAt } = this.#state
    if (failures > 0) return retrySeconds(failures, random())
    if (refreshedAt === undefined) return 0
    // A tenth earlier or later, so that services that start together do not ask together.
    return refreshSeconds * (0.9 + 0.2 * random())
  }
}

/** The timer does not keep a process of Node.js running. Browsers have numbers as timers. */
function restUnreferenced(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    const { unref } = timer as { unref?: () => void }
    unref?.call(timer)
    signal.addEventListener('abort', end, { once: true })
  })
}
