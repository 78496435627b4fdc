import { expect, it } from 'vitest'
import { LimiterUnavailableError } from '../rate-limit/limiter.ts'
import { Channel, type ChannelOperations, type ChannelPort } from './channel.ts'
import { claimNewestBy, newestMarks } from './newest-marks.ts'

/** The channel of a worker to a supervisor with these operations. */
function connect(operations: ChannelOperations): Channel {
  const listeners: [((message: unknown) => void)[], ((message: unknown) => void)[]] = [[], []]
  const port = (own: 0 | 1): ChannelPort => ({
    send: (messages) => {
      for (const listener of listeners[(1 - own) as 0 | 1]) listener(structuredClone(messages))
    },
    onMessage: (listener) => void listeners[own].push(listener),
    onEnd: () => undefined,
  })
  const channel = new Channel(port(0))
  void new Channel(port(1), operations)
  return channel
}

it('of workers that claim the same value one gets it, and a lower one none', async () => {
  const operations = newestMarks({ monotonicMs: () => 0 })
  const workers = [1, 2, 3].map(() => claimNewestBy(connect(operations)))
  const claims = await Promise.all(workers.map((claim) => claim('a', 7)))
  expect(claims.filter((isFirst) => isFirst)).toHaveLength(1)
  expect(await Promise.all(workers.map((claim) => claim('a', 6)))).toEqual([false, false, false])
  expect([await workers[0]?.('a', 8), await workers[1]?.('b', 7)]).toEqual([true, true])
})

it('stores a value for half a minute at least, and not permanently', async () => {
  let nowMs = 0
  const claim = claimNewestBy(connect(newestMarks({ monotonicMs: () => nowMs })))
  nowMs = 29_000
  expect(await claim('a', 1)).toBe(true)
  nowMs = 59_000
  expect(await claim('a', 1)).toBe(false)
  nowMs = 120_000
  expect(await claim('a', 1)).toBe(true)
})

it('claims nothing when the supervisor does not answer', async () => {
  await expect(claimNewestBy(connect({}))('a', 1)).rejects.toBeInstanceOf(LimiterUnavailableError)
})
