import { HOUR, SECOND, hours, seconds } from '@chancery/protocol'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  after,
  isDue,
  paceSeconds,
  refreshSeconds,
  renewalDue,
  renewalTime,
  retrySeconds,
  sleepMs,
} from './schedule.ts'

const START = 1_893_553_200_000_000n

function lifetime(lifetimeHours: number): { issuedAt: bigint; expiresAt: bigint } {
  return { issuedAt: START, expiresAt: START + hours(lifetimeHours) }
}

/** From 0 up to 1, as Math.random gives it. */
const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
/** Lives of one microsecond to ten years. */
const anyLifetime = fc
  .bigInt({ min: 1n, max: 87_600n * HOUR })
  .map((span) => ({ issuedAt: START, expiresAt: START + span, span }))

describe('renewalTime', () => {
  it.each([
    ['a week: 24 h before its end', 168, 144],
    ['three days: both are the same', 72, 48],
    ['a day: two thirds', 24, 16],
    ['a year: 24 h before its end', 8760, 8736],
  ])('%s', (_name, lifetimeHours, due) => {
    expect(renewalDue(lifetime(lifetimeHours))).toBe(START + hours(due))
    expect(renewalTime(lifetime(lifetimeHours), 0)).toBe(START + hours(due))
  })

  it('of an hour is at 40 minutes, spread over 6', () => {
    expect(renewalTime(lifetime(1), 0)).toBe(START + seconds(2400))
    expect(renewalTime(lifetime(1), 0.999_999_9)).toBeLessThanOrEqual(START + seconds(2760))
  })

  it('never starts before two thirds of the life nor before the last 24 h', () => {
    fc.assert(
      fc.property(anyLifetime, random, ({ span, ...window }, chance) => {
        const at = renewalTime(window, chance)
        expect(at).toBeGreaterThanOrEqual(window.issuedAt + (span * 2n) / 3n)
        expect(at).toBeGreaterThanOrEqual(window.expiresAt - 24n * HOUR)
      }),
    )
  })

  it('always leaves 22 h, or more than a fifth of a shorter life, to try again', () => {
    fc.assert(
      fc.property(anyLifetime, random, ({ span, ...window }, chance) => {
        const left = window.expiresAt - renewalTime(window, chance)
        const margin = span / 5n < 22n * HOUR ? span / 5n : 22n * HOUR
        expect(left).toBeGreaterThanOrEqual(margin)
        expect(left).toBeGreaterThan(0n)
      }),
    )
  })

  it('spreads a fleet over the smaller of 2 h and a tenth of the life', () => {
    fc.assert(
      fc.property(anyLifetime, random, ({ span, ...window }, chance) => {
        const spread = renewalTime(window, chance) - renewalDue(window)
        expect(spread).toBeGreaterThanOrEqual(0n)
        expect(spread).toBeLessThanOrEqual(span / 10n < 2n * HOUR ? span / 10n : 2n * HOUR)
      }),
    )
    const times = [0, 0.25, 0.5, 0.75].map((chance) => renewalTime(lifetime(168), chance))
    expect(new Set(times).size).toBe(4)
  })
})

describe('retrySeconds', () => {
  it('doubles from 5 s to a minute, by up to half less', () => {
    expect([1, 2, 3, 4, 5, 6, 1000].map((failures) => retrySeconds(failures, 0) * 2)).toEqual([
      5, 10, 20, 40, 60, 60, 60,
    ])
  })

  it('never rushes and never waits long', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1_000_000 }), random, (failures, chance) => {
        const wait = retrySeconds(failures, chance)
        expect(wait).toBeGreaterThanOrEqual(2.5)
        expect(wait).toBeLessThanOrEqual(60)
      }),
    )
  })

  it('gives many tries within the grace time of a renewed certificate', () => {
    let [spent, tries] = [0, 0]
    while (spent < 900) spent += retrySeconds((tries += 1), 0.999)
    expect(tries).toBeGreaterThan(15)
  })
})

describe('paceSeconds', () => {
  it.each([
    [undefined, 60],
    [61, 61],
    [0, 5],
    [Number.MAX_SAFE_INTEGER, 900],
  ])('%s becomes %s', (asked, pace) => {
    expect(paceSeconds(asked)).toBe(pace)
  })
})

describe('isDue', () => {
  it('is true from its time on, and when the clock was turned back by more than any pace', () => {
    expect([isDue(START, START - 1n), isDue(START, START), isDue(START, START + 1n)]).toEqual([false, true, true])
    expect(isDue(START, START - 900n * SECOND)).toBe(false)
    expect(isDue(START, START - 901n * SECOND)).toBe(true)
  })
})

describe('refreshSeconds', () => {
  it('of ten minutes is five, a tenth earlier or later', () => {
    expect([refreshSeconds(600, 0), refreshSeconds(600, 0.5)]).toEqual([270, 300])
  })

  it('always comes well before the announcement runs out', () => {
    fc.assert(
      fc.property(fc.integer({ min: 60, max: 86_400 }), random, (lifetime, chance) => {
        expect(refreshSeconds(lifetime, chance)).toBeLessThanOrEqual(lifetime * 0.56)
        expect(refreshSeconds(lifetime, chance)).toBeGreaterThanOrEqual(lifetime * 0.44)
      }),
    )
  })
})

describe('sleepMs', () => {
  it('ends at the earliest time, and never lasts long', () => {
    expect(sleepMs(START, after(START, 2), after(START, 1))).toBe(1000)
    expect(sleepMs(START, START - 1n)).toBe(0)
    expect(sleepMs(START, after(START, 86_400))).toBe(30_000)
  })

  it('never wakes before the time it waits for', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 30, noNaN: true }), (wait) => {
        const at = after(START, wait)
        expect(START + BigInt(Math.ceil(sleepMs(START, at) * 1000))).toBeGreaterThanOrEqual(at)
      }),
    )
  })
})
