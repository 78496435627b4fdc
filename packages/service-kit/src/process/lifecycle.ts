import { toError } from '../log/fields.ts'
import type { Log } from '../log/log.ts'
import { exitCodeOf } from '../settings/start-error.ts'
import { sleep } from '../async/sleep.ts'

/** A service that has started. */
export interface RunningService {
  /** Readiness fails from now on. All other requests are still served. */
  turnNotReady(): void
  /** Accepts no new connection and resolves when the last open request is complete. */
  stopAccepting(): Promise<void>
  /** Flushes batches, stops jobs, closes pools. Waits for running commits. */
  close(): Promise<void>
}

export type ProcessEvent = 'SIGTERM' | 'SIGINT' | 'uncaughtException' | 'unhandledRejection'

/** The part of the process that a service needs. Tests supply their own. */
export interface ProcessLike {
  on(event: ProcessEvent, listener: (reason: unknown) => void): unknown
  exit(code: number): unknown
}

export interface ServiceOptions {
  readonly log: Log
  /** The signal aborts when the service is stopped before it has started. It may then reject. */
  readonly start: (stopped: AbortSignal) => Promise<RunningService>
  /** How long a stopping service still serves after it is not ready, so that load balancers detect it. */
  readonly drainSeconds: number
  /** Maximum time from the end of accepting to the exit. */
  readonly finishSeconds?: number
  readonly process?: ProcessLike
}

const FINISH_SECONDS = 25
const CRASH_SECONDS = 5

/**
 * Runs a service from start to exit (reliability 13) and returns the exit code.
 *
 * A signal marks the service as not ready. It serves for the drain time, accepts no new connections, finishes open
 * requests, closes and exits with 0. A second signal or the time limit exits with 1. After an uncaught error the state
 * is unreliable: nothing new is accepted, open requests have 5 s, then the exit code is 1. A start that fails because of
 * a setting has the exit code WRONG_SETTINGS.
 */
export function runService(options: ServiceOptions): Promise<number> {
  return new ServiceRun(options).run()
}

class ServiceRun {
  readonly #log: Log
  readonly #options: ServiceOptions
  readonly #process: ProcessLike
  readonly #exited = Promise.withResolvers<number>()
  readonly #drain = new AbortController()
  readonly #stopped = new AbortController()
  #service: RunningService | undefined
  #limit: NodeJS.Timeout | undefined
  #signals = 0
  #stopping = false
  #finishing = false
  #crashed = false
  #isExited = false

  constructor(options: ServiceOptions) {
    this.#log = options.log
    this.#options = options
    this.#process = options.process ?? nodeProcess
  }

  async run(): Promise<number> {
    this.#process.on('SIGTERM', () => this.#onSignal('SIGTERM'))
    this.#process.on('SIGINT', () => this.#onSignal('SIGINT'))
    this.#process.on('uncaughtException', (reason) => this.#onCrash('uncaught exception', reason))
    this.#process.on('unhandledRejection', (reason) => this.#onCrash('unhandled rejection', reason))
    try {
      this.#service = await this.#options.start(this.#stopped.signal)
      // The stop came during the start: no request has been served, so there is nothing to drain.
      if (this.#stopping) {
        this.#turnNotReady()
        void this.#finish(0)
      }
    } catch (thrown) {
      if (this.#stopped.signal.aborted && thrown === this.#stopped.signal.reason) {
        this.#log.info('stopped')
        this.#exit(0)
        return this.#exited.promise
      }
      this.#log.fatal('start failed', { error: toError(thrown) })
      this.#exit(exitCodeOf(thrown))
    }
    return this.#exited.promise
  }

  #onSignal(signal: string): void {
    this.#signals += 1
    if (this.#signals > 1) {
      this.#log.error('second signal, exiting at once', { signal })
      this.#exit(1)
      return
    }
    this.#log.info('stopping', { signal })
    if (this.#stopping) return
    this.#turnNotReady()
    this.#stopped.abort()
    if (this.#service === undefined) this.#setLimit(this.#finishSeconds())
    else void this.#finish(this.#options.drainSeconds)
  }

  #onCrash(event: string, reason: unknown): void {
    this.#log.fatal(event, { error: toError(reason) })
    // The first error set the time limit; a second one changes nothing.
    if (this.#crashed) return
    this.#crashed = true
    if (this.#service === undefined) {
      this.#exit(1)
      return
    }
    this.#setLimit(CRASH_SECONDS)
    this.#turnNotReady()
    this.#drain.abort()
    void this.#finish(0)
  }

  #turnNotReady(): void {
    this.#stopping = true
    try {
      this.#service?.turnNotReady()
    } catch (thrown) {
      this.#log.error('cannot mark the service as not ready', { error: toError(thrown) })
    }
  }

  async #finish(drainSeconds: number): Promise<void> {
    if (this.#finishing || this.#service === undefined) return
    this.#finishing = true
    await sleep(drainSeconds * 1000, this.#drain.signal)
    if (!this.#crashed) this.#setLimit(this.#finishSeconds())
    try {
      await this.#service.stopAccepting()
      await this.#service.close()
      this.#log.info('stopped')
      this.#exit(this.#crashed ? 1 : 0)
    } catch (thrown) {
      this.#log.error('stopping failed', { error: toError(thrown) })
      this.#exit(1)
    }
  }

  #setLimit(seconds: number): void {
    clearTimeout(this.#limit)
    this.#limit = setTimeout(() => {
      this.#log.error('did not finish in time', { limit_seconds: seconds })
      this.#exit(1)
    }, seconds * 1000)
  }

  #finishSeconds(): number {
    return this.#options.finishSeconds ?? FINISH_SECONDS
  }

  #exit(code: number): void {
    if (this.#isExited) return
    this.#isExited = true
    clearTimeout(this.#limit)
    this.#log.flush()
    this.#process.exit(code)
    this.#exited.resolve(code)
  }
}

const nodeProcess: ProcessLike = {
  on: (event, listener) => process.on(event, listener),
  exit: (code) => process.exit(code),
}
