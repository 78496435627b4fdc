import type { Clock } from '../system.ts'
import { LimiterUnavailableError } from '../rate-limit/limiter.ts'
import type { Channel, ChannelOperations } from './channel.ts'

interface Mark {
  readonly name: string
  readonly value: number
}

const ANSWER_MS = 1000
/** A mark is stored for one to two of these: much longer than a worker takes to store what it marked. */
const GENERATION_MS = 30_000

/** Claims a value of a name; false when a worker has claimed the same or a higher one. */
export type ClaimNewest = (name: string, value: number) => Promise<boolean>

/** In a worker. When the supervisor does not answer, nothing is claimed. */
export function claimNewestBy(channel: Channel): ClaimNewest {
  return async (name, value) => {
    try {
      return await channel.call<boolean>('claimNewest', { name, value } satisfies Mark, ANSWER_MS)
    } catch (error) {
      throw new LimiterUnavailableError('supervised', { cause: error })
    }
  }
}

/** In the supervisor: the highest value of each name, for all workers. */
export function newestMarks(clock: Pick<Clock, 'monotonicMs'>): ChannelOperations {
  let [current, former] = [new Map<string, number>(), new Map<string, number>()]
  let beganMs = clock.monotonicMs()
  return {
    claimNewest({ name, value }: Mark): boolean {
      const nowMs = clock.monotonicMs()
      if (nowMs - beganMs >= GENERATION_MS) {
        former = nowMs - beganMs >= 2 * GENERATION_MS ? new Map() : current
        current = new Map()
        beganMs = nowMs
      }
      const known = Math.max(current.get(name) ?? -Infinity, former.get(name) ?? -Infinity)
      if (value <= known) return false
      current.set(name, value)
      return true
    },
  }
}
