import { describe, expect, it } from 'vitest'
import { ManualClock } from './clock.ts'

describe('ManualClock', () => {
  it('does not move by itself', () => {
    const clock = new ManualClock('2026-01-02T03:04:05Z')
    expect([clock.now(), clock.now(), clock.monotonicMs()]).toEqual([1_767_323_045_000_000n, 1_767_323_045_000_000n, 0])
  })

  it('advances both clocks together', () => {
    const clock = new ManualClock(0n)
    clock.advance(1.5)
    clock.advance(0.000_001)
    expect(clock.now()).toBe(1_500_001n)
    expect(clock.monotonicMs()).toBeCloseTo(1500.001, 6)
  })

  it('is set on the wall only, backwards too', () => {
    const clock = new ManualClock(5_000_000n)
    clock.advance(1)
    clock.set(1n)
    expect([clock.now(), clock.monotonicMs()]).toEqual([1n, 1000])
    clock.set('1970-01-01T00:00:02Z')
    expect(clock.now()).toBe(2_000_000n)
  })

  it.each([-1, Number.NaN])('refuses to advance by %d', (seconds) => {
    expect(() => new ManualClock().advance(seconds)).toThrow(RangeError)
  })

  it('refuses a text that is no instant', () => {
    expect(() => new ManualClock('yesterday')).toThrow(TypeError)
  })
})
