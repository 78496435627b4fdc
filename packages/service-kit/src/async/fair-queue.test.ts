import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { FairQueue } from './fair-queue.ts'
import type { QueueSlot } from './fair-queue.ts'

const LIMITS = { atOnce: 2, shortMs: 1000, restFactor: 4, restMaxMs: 100 }
const nextTurn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))

/** Takes a turn and keeps a note of when it comes. */
function ask(turns: FairQueue, name: string, log: string[]): QueueSlot {
  const turn = turns.take(name.charAt(0))
  void turn.come.then((hasCome) => log.push(hasCome ? name : `${name} dropped`))
  return turn
}

describe('turns', () => {
  it('go round the callers, one of each at a time, so many at once', async () => {
    const turns = new FairQueue(LIMITS)
    const log: string[] = []
    const [a1, a2, , b1, c1] = ['a1', 'a2', 'a3', 'b1', 'c1'].map((name) => ask(turns, name, log))
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

  it('begin one by one: others are served between two of them', async () => {
    const turns = new FairQueue({ ...LIMITS, atOnce: 10 })
    const log: string[] = []
    for (const name of ['a', 'b', 'c']) ask(turns, name, log)
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

  it('are not taken by those who left the line, and the line goes on', async () => {
    const turns = new FairQueue(LIMITS)
    const log: string[] = []
    const [a1, a2] = ['a1', 'a2', 'a3'].map((name) => ask(turns, name, log))
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

  it('leave nothing behind', async () => {
    const turns = new FairQueue(LIMITS)
    for (const name of ['a', 'b', 'c']) {
      const turn = turns.take(name)
      await turn.come
      turn.end()
    }
    turns.take('d').drop()
    await pause(20)
    expect(turns.callers).toBe(0)
  })
})

describe('a caller with long turns', () => {
  it('rests after each while others go on, and a new request does not shorten the rest', async () => {
    const turns = new FairQueue({ atOnce: 2, shortMs: 0, restFactor: 1000, restMaxMs: 80 })
    const log: string[] = []
    const first = ask(turns, 'a1', log)
    await first.come
    await pause(5)
    first.end()
    const ended = performance.now()
    const second = ask(turns, 'a2', log)
    const other = ask(turns, 'b1', log)
    await other.come
    expect(log).toEqual(['a1', 'b1'])
    other.end()
    await second.come
    expect(performance.now() - ended).toBeGreaterThanOrEqual(79)
    second.end()
    await pause(150)
    expect(turns.callers).toBe(0)
  })

  it('does not rest after a short one', async () => {
    const turns = new FairQueue({ ...LIMITS, restMaxMs: 60_000 })
    for (let i = 0; i < 5; i += 1) {
      const turn = turns.take('a')
      await turn.come
      turn.end()
    }
    expect(turns.callers).toBe(0)
  })
})
