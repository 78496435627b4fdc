import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { SECOND } from '../canonical/time.ts'
import { instantOf } from '../reading/text.ts'
import { type BudgetWindow, CALENDAR_UNITS, isCounted, readWindowName, slotOf, windowAt } from './windows.ts'

const AT = instantOf('2026-11-18T16:20:30.500000Z')

describe('a window', () => {
  it.each([
    ['hour', 'hour:2026-11-18T16', '2026-11-18T16:00:00Z', '2026-11-18T17:00:00Z'],
    ['day', 'day:2026-11-18', '2026-11-18T00:00:00Z', '2026-11-19T00:00:00Z'],
    ['week', 'week:2026-W47', '2026-11-16T00:00:00Z', '2026-11-23T00:00:00Z'],
    ['month', 'month:2026-11', '2026-11-01T00:00:00Z', '2026-12-01T00:00:00Z'],
    ['year', 'year:2026', '2026-01-01T00:00:00Z', '2027-01-01T00:00:00Z'],
  ] as const)('of a calendar %s is %s', (unit, name, from, until) => {
    expect(windowAt({ kind: 'calendar', unit }, AT)).toEqual({ name, from, until })
  })

  it('of a week belongs to the year of its Thursday', () => {
    const week: BudgetWindow = { kind: 'calendar', unit: 'week' }
    expect(windowAt(week, instantOf('2027-01-01T00:00:00Z')).name).toBe('week:2026-W53')
    expect(windowAt(week, instantOf('2025-12-29T00:00:00Z')).name).toBe('week:2026-W01')
  })

  it('that rolls has 60 buckets before the present one', () => {
    // b = floor(1795018830 / 60), as the document defines it.
    expect(windowAt({ kind: 'rolling', seconds: 3600 }, AT)).toEqual({
      name: 'rolling:3600:29916980',
      from: '2026-11-18T15:20:00Z',
      until: '2026-11-18T16:21:00Z',
    })
  })

  it('contains its instant, begins where the one before ends, and is found by its name', () => {
    const instant = fc.bigInt({ min: 1_000_000_000n, max: 4_000_000_000n }).map((whole) => whole * SECOND + 7n)
    fc.assert(
      fc.property(instant, fc.constantFrom(...CALENDAR_UNITS), (at, unit) => {
        const window: BudgetWindow = { kind: 'calendar', unit }
        const { name, from, until } = windowAt(window, at)
        expect(instantOf(from) <= at && at < instantOf(until)).toBe(true)
        expect(windowAt(window, instantOf(from) - 1n).until).toBe(from)
        expect(readWindowName(name)).toEqual(window)
      }),
    )
  })

  it('that rolls counts every use of its last seconds, in any order of times', () => {
    const seconds = fc.integer({ min: 1, max: 44_640 }).map((minutes) => minutes * 60)
    fc.assert(
      fc.property(
        seconds,
        fc.bigInt({ min: 0n, max: 2n ** 40n }),
        fc.bigInt({ min: 0n, max: 2n ** 40n }),
        (length, a, b) => {
          const window: BudgetWindow = { kind: 'rolling', seconds: length }
          const [base, at] = [1_700_000_000n * SECOND + a, 1_700_000_000n * SECOND + b]
          if (base > at - BigInt(length) * SECOND) expect(isCounted(window, slotOf(window, base), at)).toBe(true)
        },
      ),
    )
  })
})
