import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DAY, HOUR, type Instant, SECOND, hours, readInstant, seconds } from './time.ts'
import { writeInstant, writeSortable } from './write-time.ts'

const FIRST = readInstant('0001-01-01T00:00:00Z') as Instant
const LAST = readInstant('9999-12-31T23:59:59.999999Z') as Instant
const instants = fc.oneof(
  fc.bigInt({ min: FIRST, max: LAST }),
  fc.bigInt({ min: FIRST / SECOND, max: LAST / SECOND }).map((whole) => whole * SECOND),
)

function two(value: number): string {
  return String(value).padStart(2, '0')
}

describe('writeInstant', () => {
  it('is read back to the same instant over the years 1 to 9999', () => {
    fc.assert(
      fc.property(instants, (instant) => {
        expect(readInstant(writeInstant(instant))).toBe(instant)
        expect(readInstant(writeSortable(instant))).toBe(instant)
      }),
      { numRuns: 5000 },
    )
  })

  it('agrees with Date for every day from 1600 to 2400', () => {
    const different: string[] = []
    for (let ms = Date.UTC(1600, 0, 1, 13, 14, 15); ms < Date.UTC(2400, 0, 1); ms += 86_400_000) {
      const written = writeInstant(BigInt(ms) * 1000n)
      if (written !== new Date(ms).toISOString().replace('.000Z', 'Z')) different.push(written)
    }
    expect(different).toEqual([])
  })

  it('writes six digits or none', () => {
    fc.assert(
      fc.property(instants, (instant) => {
        expect(writeInstant(instant)).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?Z$/)
        expect(writeInstant(instant).endsWith('.000000Z')).toBe(false)
      }),
    )
  })

  it.each([FIRST - 1n, LAST + 1n])('refuses the year beyond four digits: %s', (instant) => {
    expect(() => writeInstant(instant)).toThrow(RangeError)
  })
})

describe('writeSortable', () => {
  it('sorts as text like the instants', () => {
    fc.assert(
      fc.property(instants, instants, (a, b) => {
        expect(writeSortable(a) < writeSortable(b)).toBe(a < b)
      }),
    )
  })
})

describe('readInstant', () => {
  it('agrees with Date where both read the same text', () => {
    const ranges = { min: new Date('0001-01-01T00:00:00Z'), max: new Date('9999-12-31T23:59:59Z'), noInvalidDate: true }
    fc.assert(
      fc.property(fc.date(ranges), (date) => {
        expect(readInstant(date.toISOString())).toBe(BigInt(date.getTime()) * 1000n)
      }),
      { numRuns: 5000 },
    )
  })

  it('moves by the offset', () => {
    const local = fc.bigInt({ min: FIRST + DAY, max: LAST - DAY }).map((instant) => writeInstant(instant).slice(0, 19))
    const minutes = fc.integer({ min: 0, max: 1439 })
    fc.assert(
      fc.property(local, minutes, fc.constantFrom('+', '-'), (text, offset, sign) => {
        const instant = readInstant(`${text}${sign}${two(Math.floor(offset / 60))}:${two(offset % 60)}`)
        const shift = seconds(offset * 60) * (sign === '+' ? -1n : 1n)
        expect(instant).toBe((readInstant(`${text}Z`) as Instant) + shift)
      }),
    )
  })

  it('cuts digits beyond microseconds, never rounds', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 0, max: 999_999_999 }), (length, digits) => {
        const fraction = String(digits).padStart(9, '0').slice(0, length)
        const micros = BigInt(fraction.padEnd(9, '0').slice(0, 6))
        expect(readInstant(`2030-01-02T03:04:05.${fraction}Z`)).toBe(
          (readInstant('2030-01-02T03:04:05Z') as Instant) + micros,
        )
      }),
    )
  })

  it('accepts exactly the days that exist', () => {
    for (const year of [1, 4, 100, 400, 1900, 2000, 2023, 2024, 2100, 9999]) {
      let days = 0
      for (let month = 0; month <= 13; month += 1) {
        for (let day = 0; day <= 32; day += 1) {
          const date = `${String(year).padStart(4, '0')}-${two(month)}-${two(day)}`
          if (readInstant(`${date}T00:00:00Z`) !== undefined) days += 1
        }
      }
      expect(days).toBe((year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 366 : 365)
    }
  })

  it('never throws', () => {
    const parts = fc.constantFrom('2', '0', '9', '-', 'T', ':', '.', 'Z', '+', '2030-01-02', '03:04:05')
    fc.assert(
      fc.property(fc.string({ unit: parts, maxLength: 30 }), (text) => void readInstant(text)),
      { numRuns: 5000 },
    )
  })
})

describe('units', () => {
  it('are microseconds', () => {
    expect(seconds(2)).toBe(2_000_000n)
    expect(hours(24)).toBe(DAY)
    expect(HOUR).toBe(seconds(3600))
  })
})
