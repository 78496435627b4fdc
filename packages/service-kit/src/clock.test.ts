import { afterEach, describe, expect, it, vi } from 'vitest'
import { systemClock } from './clock.ts'

afterEach(() => {
  vi.restoreAllMocks()
})

describe('systemClock', () => {
  it.each([
    [0, 0n],
    [1_767_323_045_678, 1_767_323_045_678_000n],
    [1_767_323_045_678.9, 1_767_323_045_678_000n],
    [-1, -1000n],
  ])('converts %d ms to microseconds', (milliseconds, instant) => {
    vi.spyOn(Date, 'now').mockReturnValue(milliseconds)
    expect(systemClock.now()).toBe(instant)
  })

  it('calls Date.now each time, so that a preloaded module can move the time', () => {
    const moved = vi.spyOn(Date, 'now')
    moved.mockReturnValueOnce(1000).mockReturnValueOnce(500)
    expect([systemClock.now(), systemClock.now()]).toEqual([1_000_000n, 500_000n])
  })

  it('reads the monotonic clock independently of the wall clock', () => {
    const before = systemClock.monotonicMs()
    vi.spyOn(Date, 'now').mockReturnValue(0)
    expect(systemClock.monotonicMs()).toBeGreaterThanOrEqual(before)
  })
})
