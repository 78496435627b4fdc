import type { Clock } from '../system.ts'
import type { MaybePromise } from '../async/steps.ts'
import type { Limiter } from '../rate-limit/limiter.ts'
import { MemoryLimiter } from '../rate-limit/memory.ts'
import type { Channel } from './channel.ts'
import type { SupervisedWorker } from './forked-worker.ts'

/** Hits of one worker since its last report, by bucket. */
export type HitReport = readonly (readonly [bucket: string, hits: number])[]

const REPORT_MS = 50

/**
 * The windows of this process, with the hits that the other workers report. A caller with connections to several
 * workers has one limit, which it can exceed by the hits of one report interval. Counting waits for no message.
 */
export class ReportedLimiter implements Limiter {
  readonly name = 'memory'
  readonly #windows: MemoryLimiter
  readonly #channel: Channel
  readonly #hits = new Map<string, number>()
  #timer: NodeJS.Timeout | undefined

  constructor(clock: Pick<Clock, 'monotonicMs'>, channel: Channel) {
    this.#windows = new MemoryLimiter(clock)
    this.#channel = channel
    channel.serve({
      hits: (report: HitReport) => {
        for (const [bucket, hits] of report) this.#windows.add(bucket, hits)
      },
    })
  }

  hit(bucket: string, limit: number): MaybePromise<boolean> {
    const isWithin = this.#windows.hit(bucket, limit)
    if (isWithin === true) this.#report(bucket)
    return isWithin
  }

  isOver(bucket: string, limit: number): MaybePromise<boolean> {
    return this.#windows.isOver(bucket, limit)
  }

  used(bucket: string): MaybePromise<number> {
    return this.#windows.used(bucket)
  }

  async probe(): Promise<void> {}

  async close(): Promise<void> {
    clearTimeout(this.#timer)
    await this.#windows.close()
  }

  #report(bucket: string): void {
    this.#hits.set(bucket, (this.#hits.get(bucket) ?? 0) + 1)
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      this.#channel.note('hits', [...this.#hits])
      this.#hits.clear()
    }, REPORT_MS).unref()
  }
}

/** In the supervisor: passes the hits of one worker on to the others. */
export function passHits(from: SupervisedWorker, all: Iterable<SupervisedWorker>, report: HitReport): void {
  for (const other of all) if (other !== from) other.channel.note('hits', report)
}
