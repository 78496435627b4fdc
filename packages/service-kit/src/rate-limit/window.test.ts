import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { SlidingWindow, WINDOW_MS } from './memory.ts'

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
