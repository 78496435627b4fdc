import { expect, it } from 'vitest'
import { Channel, ChannelEndedError, type ChannelPort } from './channel.ts'

interface TestPort extends ChannelPort {
  sends: number
  end(): void
}

/** Two ends that exchange copies, as processes do. */
function pair(): readonly [TestPort, TestPort] {
  const listeners: ((message: unknown) => void)[][] = [[], []]
  const ends: (() => void)[][] = [[], []]
  const port = (own: 0 | 1): TestPort => ({
    sends: 0,
    send(message) {
      this.sends += 1
      for (const listener of listeners[1 - own] ?? []) listener(structuredClone(message))
    },
    onMessage: (listener) => void listeners[own]?.push(listener),
    onEnd: (listener) => void ends[own]?.push(listener),
    end: () => {
      for (const listener of ends[own] ?? []) listener()
    },
  })
  return [port(0), port(1)]
}

it('returns values and failures by call, and sends the calls of one turn together', async () => {
  const [left, right] = pair()
  const caller = new Channel(left)
  new Channel(right).serve({
    double: async (value: number) => value * 2,
    fail: () => {
      throw new RangeError('too far')
    },
  })
  expect(await Promise.all([caller.call('double', 2), caller.call('double', 3)])).toEqual([4, 6])
  expect(left.sends).toBe(1)
  await expect(caller.call('fail', undefined)).rejects.toMatchObject({ kind: 'RangeError', message: 'too far' })
  await expect(caller.call('toString', undefined)).rejects.toThrow('there is no operation toString')
})

it('fails open and later calls when the other process ends, and a call without an answer in time', async () => {
  const [left, right] = pair()
  const caller = new Channel(left)
  new Channel(right).serve({ never: () => new Promise(() => undefined) })
  await expect(caller.call('never', undefined, 5)).rejects.toThrow(ChannelEndedError)
  const open = caller.call('never', undefined)
  left.end()
  await expect(open).rejects.toThrow(ChannelEndedError)
  await expect(caller.call('never', undefined)).rejects.toThrow(ChannelEndedError)
})
