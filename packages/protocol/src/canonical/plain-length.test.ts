import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonicalJson } from './canonical-json.ts'
import { UNSURE, plainLength } from './plain-length.ts'
import { JsonError, readJson } from './read-json.ts'

/** C of what a text says; undefined where it has none. */
function canonicalOf(text: string): string | undefined {
  try {
    return canonicalJson(readJson(text))
  } catch (error) {
    if (error instanceof JsonError) return undefined
    throw error
  }
}

const space = fc.constantFrom('', '', '', ' ', '\t')
const number = fc.constantFrom(
  '0',
  '-0',
  '1',
  '-7',
  '42',
  '99',
  '100',
  '1e2',
  '1e3',
  '1000',
  '12e1',
  '1.0',
  '1E0',
  '0e9',
)
const name = fc.constantFrom('a', 'b', 'b', 'c', 'bb', '', '1', '10', '__proto__', 'toString')
const scalar = fc.oneof(number, fc.constantFrom('true', 'false', 'null', '""', '"x"', '"a,b"', '"{}"', '" "'))

/** Texts of JSON in any spelling: white space, repeated names, any order, any form of a number. */
const { text } = fc.letrec<{ text: string }>((tie) => ({
  text: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    scalar,
    fc
      .tuple(space, fc.array(fc.tuple(name, space, tie('text')), { maxLength: 4 }))
      .map(([gap, members]) => `{${gap}${members.map(([each, at, value]) => `"${each}"${at}:${value}`).join(',')}}`),
    fc.tuple(space, fc.array(tie('text'), { maxLength: 4 })).map(([gap, items]) => `[${items.join(`,${gap}`)}]`),
  ),
}))

describe('plainLength', () => {
  it('is the length of a text only where that text is canonical', () => {
    let sure = 0
    fc.assert(
      fc.property(text, (given) => {
        const length = plainLength(JSON.parse(given), 0)
        if (length !== given.length) return
        sure += 1
        expect(canonicalOf(given)).toBe(given)
      }),
      { numRuns: 20_000 },
    )
    expect(sure).toBeGreaterThan(1000)
  })

  it('is the length of every canonical text without a fraction, or unsure', () => {
    let sure = 0
    fc.assert(
      fc.property(text, (given) => {
        const canonical = canonicalOf(given)
        if (canonical === undefined || canonical.includes('.')) return
        const length = plainLength(JSON.parse(canonical), 0)
        if (length === UNSURE) return
        sure += 1
        expect(length).toBe(canonical.length)
      }),
      { numRuns: 5000 },
    )
    expect(sure).toBeGreaterThan(1000)
  })

  it.each([
    // As long as its canonical form, or shorter, so that white space could fill it up.
    '[1e2]',
    '[1e3 ]',
    '{"a":1e3,"b":1 }',
    // Names of numbers come first, wherever they were.
    '{"b":1,"1":2}',
    '{"__proto__":1}',
    '[0.5]',
    '[9007199254740993]',
  ])('is unsure of %s', (given) => {
    expect(plainLength(JSON.parse(given), 0)).toBe(UNSURE)
  })

  it('is unsure of what is nested too deeply', () => {
    const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)])
    expect(plainLength(nested(66), 0)).toBe(133)
    expect(plainLength(nested(67), 0)).toBe(UNSURE)
  })
})
