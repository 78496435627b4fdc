import type { Clock } from '../system.ts'
import { type Limiter, LimiterUnavailableError } from '../rate-limit/limiter.ts'
import { MemoryLimiter } from '../rate-limit/memory.ts'
import type { Channel, ChannelOperations } from './channel.ts'

interface Hit {
  readonly bucket: string
  readonly limit: number
}

const ANSWER_MS = 1000

/**
 * Windows that the supervisor counts, so that a limit is exact for all workers together. A hit that this worker alone
 * has over the limit is refused without a message: a flood of hits sends at most `limit` messages a minute and bucket.
 */
export class SupervisedLimiter implements Pick<Limiter, 'hit'> {
  readonly #own: MemoryLimiter
  readonly #channel: Channel

  constructor(clock: Pick<Clock, 'monotonicMs'>, channel: Channel) {
    this.#own = new MemoryLimiter(clock)
    this.#channel = channel
  }

  async hit(bucket: string, limit: number): Promise<boolean> {
    if (!(await this.#own.hit(bucket, limit))) return false
    try {
      return await this.#channel.call<boolean>('countHit', { bucket, limit } satisfies Hit, ANSWER_MS)
    } catch (error) {
      throw new LimiterUnavailableError('supervised', { cause: error })
    }
  }
}

/** In the supervisor: counts the hits of all workers. */
export function countHits(clock: Pick<Clock, 'monotonicMs'>): ChannelOperations {
  const windows = new MemoryLimiter(clock)
  return { countHit: ({ bucket, limit }: Hit) => windows.hit(bucket, limit) }
}
