import { expect, it } from 'vitest'
import { systemClock } from '../system.ts'
import { LimiterUnavailableError } from '../rate-limit/limiter.ts'
import { Channel, type ChannelOperations, type ChannelPort } from './channel.ts'
import { SupervisedLimiter, countHits } from './supervised-limiter.ts'

/** The channel of a worker to a supervisor with these operations, and the operations that it called. */
function connect(operations: ChannelOperations): { readonly channel: Channel; readonly called: string[] } {
  const listeners: [((message: unknown) => void)[], ((message: unknown) => void)[]] = [[], []]
  const called: string[] = []
  const port = (own: 0 | 1): ChannelPort => ({
    send: (messages) => {
      if (own === 0) for (const { operation } of messages as { operation: string }[]) called.push(operation)
      for (const listener of listeners[(1 - own) as 0 | 1]) listener(structuredClone(messages))
    },
    onMessage: (listener) => void listeners[own].push(listener),
    onEnd: () => undefined,
  })
  const channel = new Channel(port(0))
  void new Channel(port(1), operations)
  return { channel, called }
}

it('two workers that count at the same time get exactly the limit together', async () => {
  const operations = countHits(systemClock)
  const workers = [connect(operations), connect(operations)].map(
    ({ channel }) => new SupervisedLimiter(systemClock, channel),
  )
  const results = await Promise.all(
    workers.flatMap((worker) => Array.from({ length: 8 }, () => worker.hit('refused all', 10))),
  )
  expect(results.filter((isWithin) => isWithin)).toHaveLength(10)
  expect(await workers[0]?.hit('another', 10)).toBe(true)
})

it('sends no message for hits that this worker alone has over the limit', async () => {
  const { channel, called } = connect(countHits(systemClock))
  const worker = new SupervisedLimiter(systemClock, channel)
  const results = []
  for (let hit = 0; hit < 50; hit += 1) results.push(await worker.hit('a', 3))
  expect(results.filter((isWithin) => isWithin)).toHaveLength(3)
  expect(called).toHaveLength(3)
})

it('says that it cannot count when the supervisor does not', async () => {
  const { channel } = connect({})
  await expect(new SupervisedLimiter(systemClock, channel).hit('a', 3)).rejects.toBeInstanceOf(LimiterUnavailableError)
})
