import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readJson } from '../canonical/read-json.ts'
import { readAmount, readRecordedAmount, writeAmount } from './amounts.ts'

/** The value as a request has it: the form of a number is part of it. */
const read = (token: string, scale: number): unknown => readAmount(readJson(token), scale)

describe('an amount', () => {
  it.each([
    ['"19.99"', 2, 1999n],
    ['19.99', 2, 1999n],
    ['5', 2, 500n],
    ['100.0', 0, 100n],
    ['"1.50"', 1, 15n],
    ['"0"', 2, 0n],
    ['0.1', 2, 10n],
    // The canonical text of this double is 1000.0.
    ['1e3', 0, 1000n],
    ['999999999999999999', 0, 999_999_999_999_999_999n],
    ['"9999999999999999.99"', 2, 999_999_999_999_999_999n],
  ])('%s at scale %i is exact', (token, scale, units) => {
    expect(read(token, scale)).toBe(units)
  })

  it.each([
    '-1',
    '-0.0',
    '"-1"',
    '1e16',
    '1e300',
    '"1e3"',
    '0.30000000000000004',
    '"0.001"',
    '1.005',
    '"NaN"',
    '"Infinity"',
    '""',
    '" 5"',
    '"+5"',
    '"5."',
    '".5"',
    '"05"',
    '"0x10"',
    '"٣"',
    '"1,000.00"',
    'true',
    '[5]',
    '{"value":5}',
    '18446744073709551615',
    '"100000000000000000"',
  ])('%s is refused, and not rounded', (token) => {
    expect(read(token, 2)).toBe('invalid_context')
  })

  it('that is not there is missing', () => {
    expect([readAmount(undefined, 2), readAmount(null, 2)]).toEqual(['missing_context', 'missing_context'])
  })

  it('is read back from every record, also a sum that is larger than an amount', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 30n }), fc.integer({ min: 0, max: 6 }), (units, scale) => {
        expect(readRecordedAmount(writeAmount(units, scale), scale)).toBe(units)
      }),
    )
  })

  it('has one meaning as text and as integer', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1_000_000 }), fc.integer({ min: 0, max: 6 }), (whole, scale) => {
        expect(readAmount(String(whole), scale)).toBe(readAmount(whole, scale))
      }),
    )
  })

  it('of a record has exactly the digits of its scale', () => {
    for (const text of ['1', '1.5', '1.505', '01.50', '1.50 ']) expect(readRecordedAmount(text, 2)).toBeUndefined()
  })
})
