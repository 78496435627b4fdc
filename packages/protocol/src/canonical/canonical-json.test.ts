import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { jsonValue } from './arbitrary.suite.ts'
import { canonicalBytes, canonicalJson, compareCodePoints, writeJson } from './canonical-json.ts'
import { JsonFloat, type JsonValue } from './utf8.ts'
import { readJson } from './read-json.ts'

describe('canonicalJson', () => {
  it('is read back to the same value and written to the same text', () => {
    fc.assert(
      fc.property(jsonValue, (value) => {
        const written = canonicalJson(value)
        expect(readJson(written)).toEqual(value)
        expect(canonicalJson(readJson(written))).toBe(written)
      }),
      { numRuns: 2000 },
    )
  })

  it('is printable ASCII without white space outside strings', () => {
    fc.assert(
      fc.property(jsonValue, (value) => {
        expect(canonicalJson(value)).toMatch(/^[ -~]*$/)
        expect(canonicalBytes(value).length).toBe(canonicalJson(value).length)
      }),
    )
  })

  it('does not depend on the order in which members were put in', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.string({ unit: 'binary', maxLength: 3 })), (names) => {
        const forwards = Object.fromEntries(names.map((name) => [name, 1]))
        const backwards = Object.fromEntries(names.toReversed().map((name) => [name, 1]))
        expect(canonicalJson(forwards)).toBe(canonicalJson(backwards))
      }),
    )
  })

  it('writes doubles with the digits that read back', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        const written = canonicalJson(new JsonFloat(value))
        expect(Object.is(Number(written), value)).toBe(true)
        // protocol/core 1.3: a double is always recognisable as one, positional from 1e-4 to below 1e16.
        expect(written).toMatch(/^-?(\d+\.\d+|\d(\.\d+)?e[+-]\d{2,3})$/)
        const size = Math.abs(value)
        expect(written.includes('e')).toBe(size !== 0 && (size < 1e-4 || size >= 1e16))
      }),
      { numRuns: 5000 },
    )
  })

  it.each<[JsonValue, string]>([
    [0, '0'],
    [-0, '0'],
    [-1, '-1'],
    [Number.MAX_SAFE_INTEGER, '9007199254740991'],
    [9007199254740993n, '9007199254740993'],
    [5n, '5'],
    [0.5, '0.5'],
    [1e-7, '1e-07'],
    [new JsonFloat(90), '90.0'],
    [new JsonFloat(0), '0.0'],
    [new JsonFloat(-0), '-0.0'],
    [new JsonFloat(1e22), '1e+22'],
    [new JsonFloat(1.5e300), '1.5e+300'],
    [new JsonFloat(123456.789), '123456.789'],
    [new JsonFloat(9999999999999998), '9999999999999998.0'],
    [new JsonFloat(0.00012), '0.00012'],
    ['\u0000\u001f \u007f\u0080\u2028', '"\\u0000\\u001f \\u007f\\u0080\\u2028"'],
    ["/<>&'`", '"/<>&\'`"'],
  ])('writes %s as %s', (value, expected) => {
    expect(canonicalJson(value)).toBe(expected)
  })

  it('writes names that look like indexes in text order, whatever the engine does with them', () => {
    expect(canonicalJson({ b: 1, 10: 2, 9: 3 })).toBe('{"10":2,"9":3,"b":1}')
  })

  // 16,384 units are where the quick look for other characters runs out of room: none may slip by at its end.
  it('escapes a character beyond ASCII at every position, in texts of every length around 16,384', () => {
    for (const [unit, escaped] of [
      ['\u00eb', '\\u00eb'],
      ['\u20ac', '\\u20ac'],
      ['\u{1f600}', '\\ud83d\\ude00'],
    ] as const)
      for (let length = 16_370; length <= 16_390; length += 1)
        for (const before of [0, length - 5, length]) {
          const [head, tail] = ['a'.repeat(before), 'a'.repeat(length - before)]
          expect(canonicalJson(head + unit + tail) === `"${head}${escaped}${tail}"`, `${length}, ${before}`).toBe(true)
        }
  })

  // A value that two writers could spell differently, or leave out, must never be signed.
  const circular: Record<string, unknown> = {}
  circular.self = circular
  const deep = (levels: number): unknown => (levels === 0 ? 1 : [deep(levels - 1)])
  it.each<[string, unknown]>([
    ['undefined', undefined],
    ['an undefined member', { a: undefined }],
    ['a hole in an array', Array.from({ length: 1 })],
    ['a function', { a: () => 1 }],
    ['a symbol', Symbol('a')],
    ['a date', new Date(0)],
    ['a map', new Map([['a', 1]])],
    ['bytes', Uint8Array.of(1)],
    ['a boxed string', new String('a')],
    ['NaN', Number.NaN],
    ['infinity', [Number.POSITIVE_INFINITY]],
    ['a whole number beyond exactness', 2 ** 53],
    ['an unpaired surrogate', '\ud83d'],
    ['an unpaired surrogate in a name', { '\ude00': 1 }],
    ['a circle', circular],
    ['67 levels: two more than a body wrapped into a payload can have', deep(67)],
  ])('refuses %s', (_name, value) => {
    expect(() => canonicalJson(value as JsonValue)).toThrow(TypeError)
  })

  it('takes 64 levels', () => {
    expect(canonicalJson(deep(64) as JsonValue)).toBe(`${'['.repeat(64)}1${']'.repeat(64)}`)
  })
})

describe('writeJson', () => {
  it('keeps the order of members and spells values alike', () => {
    expect(writeJson({ b: new JsonFloat(1), a: ['\u00eb'] })).toBe('{"b":1.0,"a":["\\u00eb"]}')
  })

  it('is read back to the same value', () => {
    fc.assert(
      fc.property(jsonValue, (value) => {
        expect(readJson(writeJson(value))).toEqual(value)
      }),
    )
  })
})

describe('compareCodePoints', () => {
  it('compares character by character, not unit by unit', () => {
    const names = fc.string({ unit: fc.constantFrom('a', 'b', '\ud7ff', '\ue000', '\uffff', '\u{10000}', '\u{1f600}') })
    fc.assert(
      fc.property(names, names, (a, b) => {
        expect(Math.sign(compareCodePoints(a, b))).toBe(byCharacter(a, b))
      }),
      { numRuns: 2000 },
    )
  })
})

function byCharacter(a: string, b: string): number {
  const [left, right] = [a, b].map((text) => Array.from(text, (character) => character.codePointAt(0) ?? 0)) as [
    number[],
    number[],
  ]
  for (let i = 0; i < Math.min(left.length, right.length); i += 1) {
    const difference = (left[i] ?? 0) - (right[i] ?? 0)
    if (difference !== 0) return Math.sign(difference)
  }
  return Math.sign(left.length - right.length)
}
