import { describe, expect, it } from 'vitest'
import { JsonFloat, emptyObject, isJsonObject, member } from './utf8.ts'

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
