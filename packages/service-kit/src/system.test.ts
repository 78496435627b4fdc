import { afterEach, describe, expect, it, vi } from 'vitest'
import { systemClock, systemIds } from './system.ts'

describe('systemIds', () => {
  it('returns lower-case random UUIDs', () => {
    expect(systemIds.uuid()).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  })

  it('returns tokens of 32 bytes without padding', () => {
    const token = systemIds.token()
    expect(token).toMatch(/^[A-Za-z0-9_-]{43}$/)
    expect(Buffer.from(token, 'base64url')).toHaveLength(32)
  })

  it.each([1, 2, 11, 12, 64])('returns exactly %d hex digits', (digits) => {
    expect(systemIds.hex(digits)).toMatch(new RegExp(`^[0-9a-f]{${digits}}$`))
  })

  it.each([0, -1, 1.5, Number.NaN])('refuses %d digits', (digits) => {
    expect(() => systemIds.hex(digits)).toThrow(RangeError)
  })

  it('never returns the same value twice', () => {
    const values = Array.from({ length: 100 }, () => [systemIds.uuid(), systemIds.token(), systemIds.hex(16)]).flat()
    expect(new Set(values).size).toBe(300)
  })
})

describe('systemClock', () => {
  afterEach(() => {
    vi.restoreAllMocks()
  })

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
