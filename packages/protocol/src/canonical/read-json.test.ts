import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { JsonFloat, type JsonValue } from './utf8.ts'
import { JsonError, READ_LIMITS, readJson, readJsonBytes } from './read-json.ts'

/** The value, or undefined when refused; anything but a JsonError ends the test. */
function read(run: () => JsonValue): JsonValue | undefined {
  try {
    return run()
  } catch (error) {
    expect(error).toBeInstanceOf(JsonError)
    return undefined
  }
}

const fragments = [
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  '"',
  '"a"',
  '"\\u0061"',
  '\\',
  '\\u',
  'd83d',
  '\\ud83d',
  '\\ude00',
  '1',
  '0',
  '-',
  '.',
]
const jsonish = fc.string({
  unit: fc.constantFrom(...fragments, 'e', '+', 'true', 'null', 'NaN', ' ', '\n', '\u{1f600}', '\ud800'),
  maxLength: 24,
})

describe('readJson', () => {
  it('never throws anything but a JsonError', () => {
    fc.assert(
      fc.property(fc.oneof(jsonish, fc.string({ unit: 'binary' })), (text) => void read(() => readJson(text))),
      { numRuns: 20_000 },
    )
  })

  it('accepts nothing that the platform refuses, and reads the same value', () => {
    fc.assert(
      fc.property(jsonish, (text) => {
        const value = read(() => readJson(text))
        if (value !== undefined) expect(toPlain(value)).toEqual(parse(text))
      }),
      { numRuns: 20_000 },
    )
  })

  it('reads whatever JSON.stringify writes, except whole numbers spelled beyond 2^64', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 4, stringUnit: 'binary' }), (text) => {
        const value = read(() => readJson(text))
        if (value === undefined) expect(text).toMatch(/\d{19}/)
        else expect(toPlain(value)).toEqual(parse(text))
      }),
      { numRuns: 2000 },
    )
  })

  it('refuses every proper beginning of an object', () => {
    const whole = '{"a":[1.5,-2e3,"x\\u00eb\\n",true,null],"b":{"":{}}}'
    expect(read(() => readJson(whole))).toBeDefined()
    for (let length = 0; length < whole.length; length += 1) {
      expect(read(() => readJson(whole.slice(0, length)))).toBeUndefined()
    }
  })

  it('stores the token form that was read', () => {
    expect(readJson('[1,1.0,1e0,-0,-0.0]')).toEqual([1, new JsonFloat(1), new JsonFloat(1), 0, new JsonFloat(-0)])
  })

  it('gives exact integers: number while exact, bigint beyond', () => {
    for (let distance = -3n; distance <= 3n; distance += 1n) {
      for (const middle of [2n ** 53n, -(2n ** 53n), 10n ** 15n, 2n ** 63n - 4n, -(2n ** 63n) + 4n, 2n ** 64n - 4n]) {
        const exact = middle + distance
        const value = readJson(String(exact)) as number | bigint
        expect(BigInt(value)).toBe(exact)
        expect(typeof value).toBe(Number.isSafeInteger(Number(exact)) ? 'number' : 'bigint')
      }
    }
  })

  it('keeps prototype names as ordinary members', () => {
    const value = readJson('{"__proto__":{"admin":true},"constructor":1}') as { [name: string]: JsonValue }
    expect(Object.keys(value)).toEqual(['__proto__', 'constructor'])
    expect(value.admin).toBeUndefined()
    expect(({} as { admin?: unknown }).admin).toBeUndefined()
  })

  it('says where, never what', () => {
    expect(() => readJson('{"password":"hunter2",}')).toThrow(new JsonError('a member name is missing', 22))
  })

  // A malicious body must cost no more than its length: no recursion, no conversion of endless numbers.
  it.each([
    ['a million open arrays', '['.repeat(1_000_000)],
    ['a million open objects', '{"a":'.repeat(1_000_000)],
    ['a million digits', '9'.repeat(1_000_000)],
    ['an exponent of a million digits', `1e${'9'.repeat(1_000_000)}`],
    ['a million backslashes', `"${'\\'.repeat(1_000_001)}`],
  ])('refuses %s at once', (_name, text) => {
    const start = performance.now()
    expect(read(() => readJson(text))).toBeUndefined()
    expect(performance.now() - start).toBeLessThan(1000)
  })
})

describe('limits', () => {
  it('count values in the whole text', () => {
    const limits = { ...READ_LIMITS, maxValues: 4 }
    expect(readJson('[1,{"a":2}]', limits)).toBeDefined()
    expect(() => readJson('[1,{"a":2},3]', limits)).toThrow(JsonError)
  })

  it('count members of one object', () => {
    const limits = { ...READ_LIMITS, maxNames: 2 }
    expect(readJson('[{"a":1,"b":2},{"c":3,"d":4}]', limits)).toBeDefined()
    expect(() => readJson('{"a":1,"b":2,"c":3}', limits)).toThrow(JsonError)
  })

  it('count levels, empty containers included', () => {
    const limits = { ...READ_LIMITS, maxDepth: 2 }
    expect(readJson('[[1],{}]', limits)).toBeDefined()
    expect(() => readJson('[[[]]]', limits)).toThrow(JsonError)
    expect(() => readJson('[{"a":{}}]', limits)).toThrow(JsonError)
  })
})

describe('readJsonBytes', () => {
  it('never throws anything but a JsonError', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 16 }), (bytes) => void read(() => readJsonBytes(bytes))),
      { numRuns: 5000 },
    )
  })

  it('agrees with the reader of texts', () => {
    fc.assert(
      fc.property(jsonish, (text) => {
        if (!text.isWellFormed()) return
        expect(read(() => readJsonBytes(Buffer.from(text)))).toEqual(read(() => readJson(text)))
      }),
      { numRuns: 2000 },
    )
  })
})

/** The platform's reading, without the sign of zero: the integer -0 is 0 for us (protocol/core 1.2), not for it. */
function parse(text: string): unknown {
  return JSON.parse(text, (_name, value: unknown) => (value === 0 ? 0 : value))
}

/** What JSON.parse would give: one number type, ordinary objects. */
function toPlain(value: JsonValue): unknown {
  if (value instanceof JsonFloat) return value.value === 0 ? 0 : value.value
  if (typeof value === 'bigint') return Number(value)
  if (Array.isArray(value)) return value.map((item: JsonValue) => toPlain(item))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, toPlain(item)]))
}
