import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { FairQueue, type QueueSlot } from './fair-queue.ts'

const LIMITS = { atOnce: 2, shortMs: 1000, restFactor: 4, restMaxMs: 100 }
const nextTurn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))

/** Requests a slot and logs when it is granted. */
function ask(queue: FairQueue, name: string, log: string[]): QueueSlot {
  const slot = queue.take(name.charAt(0))
  void slot.granted.then((isGranted) => log.push(isGranted ? name : `${name} dropped`))
  return slot
}

describe('a fair queue', () => {
  it('serves callers round robin, one slot per caller, up to the limit', async () => {
    const queue = new FairQueue(LIMITS)
    const log: string[] = []
    const [a1, a2, , b1, c1] = ['a1', 'a2', 'a3', 'b1', 'c1'].map((name) => ask(queue, name, log))
    await pause(20)
    expect(log).toEqual(['a1', 'b1'])
    a1?.end()
    await pause(20)
    expect(log).toEqual(['a1', 'b1', 'c1'])
    b1?.end()
    c1?.end()
    await pause(20)
    expect(log).toEqual(['a1', 'b1', 'c1', 'a2'])
    a2?.end()
    await pause(20)
    expect(log.at(-1)).toBe('a3')
  })

  it('grants at most one slot per event loop turn', async () => {
    const queue = new FairQueue({ ...LIMITS, atOnce: 10 })
    const log: string[] = []
    for (const name of ['a', 'b', 'c']) ask(queue, name, log)
    expect(log).toEqual([])
    await nextTurn()
    const counts = [log.length]
    for (let i = 0; i < 3; i += 1) {
      await nextTurn()
      counts.push(log.length)
    }
    expect(counts.every((count, at) => at === 0 || count - (counts[at - 1] ?? 0) <= 1)).toBe(true)
    expect(log).toEqual(['a', 'b', 'c'])
  })

  it('skips dropped requests and serves the next ones', async () => {
    const queue = new FairQueue(LIMITS)
    const log: string[] = []
    const [a1, a2] = ['a1', 'a2', 'a3'].map((name) => ask(queue, name, log))
    await pause(20)
    a2?.drop()
    a2?.end()
    a1?.drop()
    await pause(20)
    expect(log).toEqual(['a1', 'a2 dropped'])
    a1?.end()
    a1?.end()
    await pause(20)
    expect(log).toEqual(['a1', 'a2 dropped', 'a3'])
  })

  it('stores no caller after its last slot', async () => {
    const queue = new FairQueue(LIMITS)
    for (const name of ['a', 'b', 'c']) {
      const slot = queue.take(name)
      await slot.granted
      slot.end()
    }
    queue.take('d').drop()
    await pause(20)
    expect(queue.callers).toBe(0)
  })
})

describe('a queue in which a caller has several slots', () => {
  it('gives one caller its share, and the rest to others', async () => {
    const queue = new FairQueue({ atOnce: 5, atOnceOfCaller: 3, shortMs: 0, restFactor: 0, restMaxMs: 0 })
    const order: string[] = []
    const slots = ['a', 'a', 'a', 'a', 'b', 'c'].map((caller) => {
      const slot = queue.take(caller)
      void slot.granted.then(() => order.push(caller))
      return slot
    })
    await expect.poll(() => [...order].sort()).toEqual(['a', 'a', 'a', 'b', 'c'])
    slots[0]?.end()
    await expect.poll(() => [...order].sort()).toEqual(['a', 'a', 'a', 'a', 'b', 'c'])
    for (const slot of slots) slot.end()
    expect(queue.callers).toBe(0)
  })
})

describe('a caller that uses its slot for long', () => {
  it('pauses after each use while others are served, and a new request does not shorten the pause', async () => {
    const queue = new FairQueue({ atOnce: 2, shortMs: 0, restFactor: 1000, restMaxMs: 80 })
    const log: string[] = []
    const first = ask(queue, 'a1', log)
    await first.granted
    await pause(5)
    first.end()
    const ended = performance.now()
    const second = ask(queue, 'a2', log)
    const other = ask(queue, 'b1', log)
    await other.granted
    expect(log).toEqual(['a1', 'b1'])
    other.end()
    await second.granted
    expect(performance.now() - ended).toBeGreaterThanOrEqual(79)
    second.end()
    await pause(150)
    expect(queue.callers).toBe(0)
  })

  it('does not pause after a short use', async () => {
    const queue = new FairQueue({ ...LIMITS, restMaxMs: 60_000 })
    for (let i = 0; i < 5; i += 1) {
      const slot = queue.take('a')
      await slot.granted
      slot.end()
    }
    expect(queue.callers).toBe(0)
  })
})
