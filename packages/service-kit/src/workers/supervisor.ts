import cluster from 'node:cluster'
import { sleep } from '../async/sleep.ts'
import { systemClock } from '../system.ts'
import { toError } from '../log/fields.ts'
import type { Log } from '../log/log.ts'
import type { Metrics } from '../metrics/registry.ts'
import type { ChannelOperations } from './channel.ts'
import { ForkedWorker, type SupervisedWorker } from './forked-worker.ts'
import { Restarts } from './restarts.ts'
import { type HitReport, passHits } from './shared-windows.ts'
import { newestMarks } from './newest-marks.ts'
import { countHits } from './supervised-limiter.ts'
import { WorkerSums } from './worker-sums.ts'
import type { BeginMessage } from './worker.ts'

export interface SupervisorOptions {
  readonly log: Log
  readonly workers: number
  /** Path of the file that each worker runs. */
  readonly file: string
  /** Sends the first message. It runs in the order of the changes that the workers follow. */
  readonly begin: (worker: SupervisedWorker, send: (begin: unknown) => void) => void | Promise<void>
  /** What the workers may call. */
  readonly operations: (worker: SupervisedWorker) => ChannelOperations
  /** The metrics of the supervisor, which are added to those of the workers. */
  readonly metrics?: Metrics
  /** Called when a worker process has ended. */
  readonly onEnd?: (worker: SupervisedWorker) => void
  /** Time that the workers have from a stop to their exit. */
  readonly stopSeconds: number
  /** Called after the last worker has ended. */
  readonly close?: () => Promise<void>
}

/** A worker that ran this long was not faulty from its start. */
const SOUND_MS = 10_000
const FIRST_PAUSE_MS = 100
const MAX_PAUSE_MS = 30_000
/** Failed starts in a row, while no worker serves, after which the supervisor gives up. */
const MAX_FAILED_STARTS = 5
const PING_MS = 10_000
/** A worker that does not answer for this long hangs, and is replaced. */
const HANG_MS = 60_000
const LAST_SECONDS = 5

/**
 * Runs worker processes that share the listening sockets until a signal, and returns the exit code. The first worker
 * starts alone, so that migrations run once and a wrong setting is reported once. A worker that ends is replaced, with
 * growing pauses. See docs/decisions/0050-workers.md.
 */
export function superviseWorkers(options: SupervisorOptions): Promise<number> {
  return new Supervisor(options).run()
}

class Supervisor {
  readonly #options: SupervisorOptions
  readonly #log: Log
  readonly #running = new Map<number, ForkedWorker>()
  readonly #exited = Promise.withResolvers<number>()
  readonly #stop = new AbortController()
  readonly #sums: WorkerSums
  readonly #counts = { ...countHits(systemClock), ...newestMarks(systemClock) }
  readonly #restarts = new Restarts()
  #signals = 0
  #failedStarts = 0
  #hasServed = false
  #code = 0

  constructor(options: SupervisorOptions) {
    this.#options = options
    this.#log = options.log
    this.#sums = new WorkerSums(options.metrics)
  }

  async run(): Promise<number> {
    const { file, workers } = this.#options
    cluster.schedulingPolicy = cluster.SCHED_RR
    cluster.setupPrimary({ exec: file, args: [], serialization: 'advanced' })
    process.on('SIGTERM', () => this.#onSignal('SIGTERM'))
    process.on('SIGINT', () => this.#onSignal('SIGINT'))
    process.on('uncaughtException', (error) => this.#onCrash(error))
    process.on('unhandledRejection', (error) => this.#onCrash(error))
    const pings = setInterval(() => this.#ping(), PING_MS)
    this.#log.info('supervisor starts workers', { workers })
    const slots = [this.#keepRunning(1)]
    await this.#firstServes(slots[0])
    for (let worker = 2; worker <= workers && !this.#stop.signal.aborted; worker += 1)
      slots.push(this.#keepRunning(worker))
    await Promise.all(slots)
    clearInterval(pings)
    await this.#close()
    this.#exit(this.#code)
    return this.#exited.promise
  }

  readonly #served = Promise.withResolvers<void>()

  async #firstServes(first: Promise<void> | undefined): Promise<void> {
    await Promise.race([this.#served.promise, first])
  }

  /** Runs one worker after another until the stop. */
  async #keepRunning(worker: number): Promise<void> {
    const { signal } = this.#stop
    let quickEnds = 0
    while (!signal.aborted) {
      const beganMs = performance.now()
      const forked = new ForkedWorker(worker, () => this.#onServing(worker))
      this.#running.set(worker, forked)
      const ending = await this.#runOne(forked)
      this.#running.delete(worker)
      await this.#sums.add(forked)
      this.#options.onEnd?.(forked)
      if (signal.aborted) {
        if (ending !== 0) this.#code ||= 1
        return
      }
      this.#noteEnd(forked, ending)
      quickEnds = performance.now() - beganMs < SOUND_MS ? quickEnds + 1 : 0
      await sleep(Math.min(FIRST_PAUSE_MS * 2 ** Math.max(0, quickEnds - 1), MAX_PAUSE_MS), signal)
    }
  }

  async #runOne(forked: ForkedWorker): Promise<number | string> {
    const { begin, operations, workers } = this.#options
    forked.channel.serve({
      hits: (report: HitReport) => passHits(forked, this.#running.values(), report),
      metrics: () => this.#sums.ofOthers(forked, this.#running.values()),
      ...this.#counts,
      ...operations(forked),
    })
    const { worker } = forked
    const send = (message: unknown): void => {
      const { timesMs: restarts } = this.#restarts
      forked.channel.note('begin', { worker, workers, restarts, begin: message } satisfies BeginMessage)
    }
    try {
      await Promise.race([forked.listening, forked.ended])
      await begin(forked, send)
    } catch (thrown) {
      this.#log.error('a worker could not be started', { worker, error: toError(thrown) })
      forked.kill()
    }
    if (this.#stop.signal.aborted) forked.channel.note('stop')
    return forked.ending
  }

  #onServing(worker: number): void {
    this.#failedStarts = 0
    this.#hasServed = true
    this.#served.resolve()
    this.#log.info('worker serves', { worker, pid: this.#running.get(worker)?.pid ?? 0 })
  }

  #noteEnd({ worker, pid, isServing }: ForkedWorker, ending: number | string): void {
    const fields = { worker, pid, ending }
    this.#restarts.add()
    for (const { channel } of this.#running.values()) channel.note('restarts', this.#restarts.timesMs)
    if (isServing) {
      this.#log.error('a worker ended; another one is started', { alarm: true, ...fields })
      return
    }
    this.#failedStarts += 1
    const isAlone = [...this.#running.values()].every((other) => !other.isServing)
    // Its own message says why. A wrong setting does not become right by another attempt.
    const isFinal = (!this.#hasServed && typeof ending === 'number') || this.#failedStarts >= MAX_FAILED_STARTS
    if (!isAlone || !isFinal) {
      this.#log.error('a worker did not start; another one is started', { alarm: true, ...fields })
      return
    }
    this.#log.fatal('workers do not start: correct the error that they report, then start again', fields)
    this.#code = typeof ending === 'number' && ending > 0 ? ending : 1
    this.#beginStop()
  }

  #onSignal(signal: string): void {
    this.#signals += 1
    this.#log.info('supervisor stops', { signal })
    if (this.#signals > 1) {
      this.#killAll()
      this.#exit(1)
      return
    }
    this.#beginStop()
  }

  #beginStop(): void {
    this.#stop.abort()
    this.#served.resolve()
    for (const { channel } of this.#running.values()) channel.note('stop')
    const seconds = this.#options.stopSeconds
    setTimeout(() => {
      this.#log.error('workers did not end in time', { limit_seconds: seconds })
      this.#code = 1
      this.#killAll()
    }, seconds * 1000).unref()
  }

  #onCrash(error: unknown): void {
    this.#log.fatal('the supervisor failed', { error: toError(error) })
    this.#killAll()
    this.#exit(1)
  }

  #killAll(): void {
    for (const forked of this.#running.values()) forked.kill()
  }

  /** Replaces workers that hang. One that starts may migrate a large table, so it is not asked. */
  #ping(): void {
    for (const forked of this.#running.values()) {
      if (!forked.isServing || forked.isAsked) continue
      forked.isAsked = true
      forked.channel.call('ping', undefined, HANG_MS).then(
        () => {
          forked.isAsked = false
        },
        () => {
          if (forked.channel.hasEnded) return
          this.#log.error('a worker hangs and is ended', { alarm: true, worker: forked.worker, pid: forked.pid })
          forked.kill()
        },
      )
    }
  }

  async #close(): Promise<void> {
    const limit = setTimeout(() => this.#exit(1), LAST_SECONDS * 1000)
    try {
      await this.#options.close?.()
    } catch (thrown) {
      this.#log.error('stopping failed', { error: toError(thrown) })
      this.#code = 1
    }
    clearTimeout(limit)
  }

  #exit(code: number): void {
    this.#log.flush()
    this.#exited.resolve(code)
    process.exit(code)
  }
}
