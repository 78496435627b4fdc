import { describe, expect, it } from 'vitest'
import { JsonFloat, type JsonValue } from '../canonical/utf8.ts'
import { readJson } from '../canonical/read-json.ts'
import { FormError, type Read } from './schema.ts'
import {
  arrayOf,
  boolean,
  closed,
  integer,
  nullable,
  object,
  oneOf,
  readRecord,
  required,
  string,
  withDefault,
} from './shape.ts'

function read<Value>(reader: Read<Value>, value: JsonValue): Value | string {
  try {
    return reader(value, 'f')
  } catch (error) {
    if (error instanceof FormError) return `${error.field}: ${error.problem}`
    throw error
  }
}

describe('integer', () => {
  it.each<[JsonValue, number | string]>([
    [1, 1],
    [10, 10],
    [0, 'f: is out of range'],
    [11, 'f: is out of range'],
    [-1, 'f: is out of range'],
    [new JsonFloat(5), 'f: an integer is needed'],
    ['5', 'f: an integer is needed'],
    [true, 'f: an integer is needed'],
    [null, 'f: an integer is needed'],
    [5n, 'f: an integer is needed'],
    [2n ** 53n, 'f: an integer is needed'],
    [[5], 'f: an integer is needed'],
  ])('from 1 to 10: %s', (value, expected) => {
    expect(read(integer(1, 10), value)).toBe(expected)
  })

  it.each([
    ['168', 168],
    ['168.0', 'f: an integer is needed'],
    ['1.68e2', 'f: an integer is needed'],
    ['-0', 0],
    ['9007199254740991', 9_007_199_254_740_991],
    ['9007199254740992', 'f: an integer is needed'],
  ])('the token %s', (text, expected) => {
    expect(read(integer(0, Number.MAX_SAFE_INTEGER), readJson(text))).toBe(expected)
  })
})

describe('scalars', () => {
  const VALUES: readonly JsonValue[] = ['text', '', 1, new JsonFloat(1), true, false, null, [], {}]
  it.each<[string, Read<unknown>, readonly JsonValue[]]>([
    ['string', string, ['text', '']],
    ['boolean', boolean, [true, false]],
    ['object', object, [{}]],
    ['nullable string', nullable(string), ['text', '', null]],
    ['one of two words', oneOf('text', 'other'), ['text']],
  ])('%s takes nothing else and converts nothing', (_what, reader, fitting) => {
    for (const value of VALUES) {
      const isFitting = fitting.includes(value) || (reader === object && value === VALUES.at(-1))
      if (isFitting) expect(reader(value, 'f')).toBe(value)
      else expect(() => reader(value, 'f')).toThrow(FormError)
    }
  })
})

describe('arrayOf', () => {
  const words = arrayOf(string, { min: 1, max: 3 })
  it.each<[JsonValue, string]>([
    [{}, 'f: an array is needed'],
    [null, 'f: an array is needed'],
    ['ab', 'f: an array is needed'],
    [[], 'f: has too few items'],
    [['a', 'b', 'c', 'd'], 'f: has too many items'],
    // Counted before anything is read: a long list costs nothing.
    [[1, 2, 3, 4], 'f: has too many items'],
    [['a', 7], 'f[1]: a string is needed'],
    [[['a']], 'f[0]: a string is needed'],
  ])('%j', (value, expected) => {
    expect(read(words, value)).toBe(expected)
  })

  it('keeps order and repetition unless they are to be distinct', () => {
    expect(words(['b', 'a', 'b'], 'f')).toEqual(['b', 'a', 'b'])
    const distinct = arrayOf(string, { max: 3, distinct: true })
    expect(read(distinct, ['b', 'a', 'b'])).toBe('f: repeats an item')
    expect(distinct([], 'f')).toEqual([])
  })
})

describe('closed', () => {
  const point = closed({ x: required(integer(0, 9)), label: withDefault(nullable(string), null) })
  const shape = closed({ at: required(point), tags: withDefault(arrayOf(string, { max: 2 }), ['none']) })

  it('writes every default out', () => {
    expect(readRecord(shape, { at: { x: 1 } })).toEqual({ at: { x: 1, label: null }, tags: ['none'] })
  })

  it.each<[JsonValue, string, string]>([
    [[], '', 'an object is needed'],
    [null, '', 'an object is needed'],
    [{}, 'at', 'is missing'],
    [{ at: {} }, 'at.x', 'is missing'],
    [{ at: { x: 1 }, more: 1 }, 'more', 'an unknown member'],
    [{ at: { x: 1, y: 1 } }, 'at.y', 'an unknown member'],
    [{ at: { x: 10 } }, 'at.x', 'is out of range'],
    [{ at: { x: 1 }, tags: null }, 'tags', 'an array is needed'],
    [{ at: { x: 1 }, tags: [1] }, 'tags[0]', 'a string is needed'],
    [readJson('{"at":{"x":1},"__proto__":1}'), '__proto__', 'an unknown member'],
    [{ at: { x: 1 }, toString: 1 }, 'toString', 'an unknown member'],
  ])('%j', (value, field, problem) => {
    const seen = (): unknown => readRecord(shape, value)
    expect(seen).toThrow(FormError)
    expect(seen).toThrow(field === '' ? problem : `${field}: ${problem}`)
  })

  it('does not find required members on a prototype', () => {
    expect(() => readRecord(closed({ toString: required(string) }), {})).toThrow('toString: is missing')
    expect(() => readRecord(point, Object.create({ x: 1 }) as JsonValue)).toThrow('x: is missing')
  })

  it('null is a value, not an absence', () => {
    expect(read(point, { x: null })).toBe('f.x: an integer is needed')
    expect(readRecord(point, { x: 1, label: null }).label).toBeNull()
  })
})
