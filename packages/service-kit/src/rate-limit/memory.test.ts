import { describe, expect, it } from 'vitest'
import { MemoryLimiter, SlidingWindow, WINDOW_MS } from './memory.ts'
import fc from 'fast-check'

function start(maxKeys?: number) {
  const time = { ms: 0 }
  const clock = { monotonicMs: () => time.ms }
  return { time, limiter: maxKeys === undefined ? new MemoryLimiter(clock) : new MemoryLimiter(clock, maxKeys) }
}

describe('MemoryLimiter', () => {
  it('counts each bucket separately', async () => {
    const { limiter } = start()
    expect([await limiter.hit('a', 1), await limiter.hit('a', 1), await limiter.hit('b', 1)]).toEqual([
      true,
      false,
      true,
    ])
  })

  it('counts only failures when the caller counts failures only', async () => {
    const { limiter, time } = start()
    for (let failure = 0; failure < 3; failure += 1) {
      expect(await limiter.isOver('login', 3)).toBe(false)
      expect(await limiter.hit('login', 3)).toBe(true)
    }
    expect(await limiter.isOver('login', 3)).toBe(true)
    time.ms = 60_000
    expect(await limiter.isOver('login', 3)).toBe(false)
  })

  it('gives the hits in the window', async () => {
    const { limiter, time } = start()
    expect(await limiter.used('a')).toBe(0)
    await limiter.hit('a', 5)
    await limiter.hit('a', 5)
    expect(await limiter.used('a')).toBe(2)
    time.ms = 60_000
    expect([await limiter.used('a'), await limiter.used('b')]).toEqual([0, 0])
  })

  it('stores no key that was only checked', async () => {
    const { limiter } = start()
    expect(await limiter.isOver('a', 1)).toBe(false)
    expect(limiter.size).toBe(0)
  })

  it('drops idle keys and keeps used ones', async () => {
    const { limiter, time } = start()
    await limiter.hit('early', 1)
    time.ms = 30_000
    await limiter.hit('late', 1)
    time.ms = 60_000
    await limiter.hit('now', 1)
    expect(limiter.size).toBe(2)
    expect(await limiter.isOver('late', 1)).toBe(true)
  })

  it('drops many idle keys over the next hits', async () => {
    const { limiter, time } = start()
    for (let key = 0; key < 100; key += 1) await limiter.hit(`key ${key}`, 1)
    time.ms = 60_000
    for (let hit = 0; hit < 10; hit += 1) await limiter.hit('one', 100)
    expect(limiter.size).toBe(1)
  })

  it('keeps an old key that is used again', async () => {
    const { limiter, time } = start()
    await limiter.hit('steady', 3)
    time.ms = 1000
    await limiter.hit('other', 3)
    time.ms = 30_000
    await limiter.hit('steady', 3)
    time.ms = 61_500
    await limiter.hit('new', 3)
    expect(limiter.size).toBe(2)
    expect(await limiter.hit('steady', 2)).toBe(true)
    expect(await limiter.hit('steady', 2)).toBe(false)
  })

  it('stores at most its number of keys, and drops the oldest', async () => {
    const { limiter } = start(3)
    for (const key of ['a', 'b', 'c']) await limiter.hit(key, 2)
    await limiter.hit('a', 2)
    await limiter.hit('d', 2)
    expect(limiter.size).toBe(3)
    expect(await limiter.isOver('a', 2)).toBe(true)
    expect(await limiter.isOver('b', 1)).toBe(false)
    expect(await limiter.isOver('c', 1)).toBe(true)
  })

  it('drops keys in the order of their last hit, whatever the order of the hits', async () => {
    const { limiter } = start(8)
    let stored: string[] = []
    for (let hit = 0; hit < 2000; hit += 1) {
      const key = `key ${(hit * hit + (hit >> 3)) % 13}`
      await limiter.hit(key, 5000)
      stored = [...stored.filter((other) => other !== key), key].slice(-8)
      const used = await Promise.all(Array.from({ length: 13 }, async (_, n) => limiter.used(`key ${n}`)))
      expect(used.flatMap((count, n) => (count > 0 ? [`key ${n}`] : [])).sort()).toEqual([...stored].sort())
    }
  })

  it('stores at most 100,000 keys', async () => {
    const { limiter } = start()
    for (let key = 0; key < 100_010; key += 1) await limiter.hit(`key ${key}`, 1)
    expect(limiter.size).toBe(100_000)
  })

  it('can always count', async () => {
    const { limiter } = start()
    await expect(limiter.probe()).resolves.toBeUndefined()
    expect(limiter.name).toBe('memory')
    await limiter.hit('a', 1)
    await limiter.close()
    expect(limiter.size).toBe(0)
  })
})

/** Stores all accepted hits permanently and counts them again each time. */
class NaiveWindow {
  readonly #accepted: number[] = []

  within(now: number, windowMs: number): number {
    return this.#accepted.filter((time) => now - time < windowMs).length
  }

  accept(now: number): void {
    this.#accepted.push(now)
  }
}

describe('SlidingWindow', () => {
  it.each([1, 3, 30, 256, 257, 600, 5000])(
    'passes the first %d hits inside the window and refuses the next',
    (limit) => {
      const window = new SlidingWindow()
      for (let hit = 0; hit < limit; hit += 1) expect(window.hit((hit * 59_000) / limit, limit)).toBe(true)
      expect(window.hit(59_001, limit)).toBe(false)
      expect(window.hit(59_999, limit)).toBe(false)
    },
  )

  it.each([1, 30, 600])('passes every caller that waits a window after a refusal (limit %d)', (limit) => {
    const window = new SlidingWindow()
    for (let hit = 0; hit < limit; hit += 1) window.hit(hit, limit)
    const refused = limit + 0.5
    expect(window.hit(refused, limit)).toBe(false)
    for (let hit = 0; hit < limit; hit += 1) expect(window.hit(refused + WINDOW_MS, limit)).toBe(true)
  })

  it('slides: each hit that leaves the window allows one more', () => {
    const window = new SlidingWindow()
    expect([0, 1000, 2000].map((time) => window.hit(time, 3))).toEqual([true, true, true])
    expect(window.hit(59_999, 3)).toBe(false)
    expect(window.hit(60_000, 3)).toBe(true)
    expect(window.hit(60_999, 3)).toBe(false)
    expect(window.hit(61_000, 3)).toBe(true)
  })

  it('does not count refused hits', () => {
    const window = new SlidingWindow()
    window.hit(0, 1)
    for (let time = 1; time < 60_000; time += 1000) expect(window.hit(time, 1)).toBe(false)
    expect(window.hit(60_000, 1)).toBe(true)
  })

  it('checks without counting', () => {
    const window = new SlidingWindow()
    expect(window.isOver(0, 1)).toBe(false)
    expect(window.isOver(0, 1)).toBe(false)
    expect(window.hit(0, 1)).toBe(true)
    expect(window.isOver(59_999, 1)).toBe(true)
    expect(window.isOver(60_000, 1)).toBe(false)
  })

  it('is idle exactly when its last hit has left', () => {
    const window = new SlidingWindow()
    expect(window.isIdle(0)).toBe(true)
    window.hit(0, 5)
    window.hit(10, 5)
    expect(window.isIdle(60_009)).toBe(false)
    expect(window.isIdle(60_010)).toBe(true)
  })

  const steps = fc.array(fc.record({ pass: fc.oneof(fc.constant(0), fc.nat(30)), counts: fc.boolean() }), {
    maxLength: 300,
  })

  it('gives the same results as a full count while the limit is small', () => {
    fc.assert(
      fc.property(steps, fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 100 }), (all, limit, windowMs) => {
        const window = new SlidingWindow(windowMs, 20)
        const naive = new NaiveWindow()
        let now = 0
        for (const { pass, counts } of all) {
          now += pass
          const free = naive.within(now, windowMs) < limit
          if (counts && free) naive.accept(now)
          expect(counts ? window.hit(now, limit) : !window.isOver(now, limit)).toBe(free)
          expect(window.isIdle(now)).toBe(naive.within(now, windowMs) === 0)
        }
      }),
    )
  })

  it('with a large limit never accepts more, and refuses at most 1/256 of the window too long', () => {
    fc.assert(
      fc.property(
        fc.array(fc.nat(12), { maxLength: 300, size: 'max' }),
        fc.integer({ min: 5, max: 20 }),
        (passes, limit) => {
          const [windowMs, maxRuns] = [100, 4]
          const window = new SlidingWindow(windowMs, maxRuns)
          const naive = new NaiveWindow()
          let now = 0
          for (const pass of passes) {
            now += pass
            const passed = window.hit(now, limit)
            if (passed) expect(naive.within(now, windowMs)).toBeLessThan(limit)
            else expect(naive.within(now, windowMs + windowMs / maxRuns)).toBeGreaterThanOrEqual(limit)
            if (passed) naive.accept(now)
          }
        },
      ),
    )
  })
})
