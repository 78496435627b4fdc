import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { JsonFloat, emptyObject, fromUtf8, isJsonObject, member, toUtf8 } from './utf8.ts'

describe('fromUtf8', () => {
  it('reads back every text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(fromUtf8(toUtf8(text))).toBe(text)
      }),
    )
  })

  it('gives text only for the bytes that text encodes to', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 12 }), (bytes) => {
        const text = fromUtf8(bytes)
        if (text !== undefined) expect(toUtf8(text)).toEqual(bytes)
      }),
      { numRuns: 5000 },
    )
  })

  it('keeps a byte order mark, for the reader to refuse', () => {
    expect(fromUtf8(Uint8Array.of(0xef, 0xbb, 0xbf, 0x41))).toBe('\ufeffA')
  })

  it.each([
    ['a lone continuation', [0x80]],
    ['an overlong form', [0xc0, 0x80]],
    ['a surrogate', [0xed, 0xa0, 0x80]],
    ['a cut sequence', [0xf0, 0x9f, 0x98]],
    ['a value beyond U+10FFFF', [0xf4, 0x90, 0x80, 0x80]],
  ])('refuses %s', (_name, bytes) => {
    expect(fromUtf8(Uint8Array.from(bytes))).toBeUndefined()
  })
})

describe('JsonFloat', () => {
  it.each([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])('refuses %s', (value) => {
    expect(() => new JsonFloat(value)).toThrow(TypeError)
  })
})

describe('isJsonObject', () => {
  it.each([
    ['an object', {}, true],
    ['an object without prototype', emptyObject(), true],
    ['an array', [], false],
    ['null', null, false],
    ['a float', new JsonFloat(1), false],
    ['a string', '{}', false],
    ['nothing', undefined, false],
  ])('%s', (_name, value, expected) => {
    expect(isJsonObject(value)).toBe(expected)
  })
})

describe('member', () => {
  it.each(['toString', 'constructor', '__proto__', 'hasOwnProperty'])('never reaches the prototype for %s', (name) => {
    expect(member({}, name)).toBeUndefined()
  })

  it('finds own members of any name', () => {
    const object = emptyObject()
    object.__proto__ = 1
    expect(member(object, '__proto__')).toBe(1)
    expect(Object.getPrototypeOf(object)).toBeNull()
  })
})
