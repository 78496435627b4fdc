import { describe, expect, it } from 'vitest'
import { type Reader, SettingError, integer, jsonTextMap, onOff, oneOf, text } from './readers.ts'

const between = integer({ min: 1, max: 65_535 })
const word = oneOf('memory', 'redis')

describe('readers accept', () => {
  it.each<[string, Reader<unknown>, string, unknown]>([
    ['any text', text, ' with spaces ', ' with spaces '],
    ['zero', integer(), '0', 0],
    ['a negative number', integer(), '-12', -12],
    ['the lower bound', between, '1', 1],
    ['the upper bound', between, '65535', 65_535],
    ['fifteen digits', integer(), '999999999999999', 999_999_999_999_999],
    ['a listed word', word, 'redis', 'redis'],
    ['on', onOff, 'on', true],
    ['off', onOff, 'off', false],
    ['an empty map', jsonTextMap, '{}', new Map()],
    [
      'a map',
      jsonTextMap,
      '{"a":"1","__proto__":"2"}',
      new Map([
        ['a', '1'],
        ['__proto__', '2'],
      ]),
    ],
  ])('%s', (_name, read, given, value) => {
    expect(read(given)).toEqual(value)
  })
})

describe('readers refuse', () => {
  it.each<[string, Reader<unknown>, string, RegExp]>([
    ['an empty text', text, '', /must not be empty/],
    ['a carriage return', text, 'value\r', /control characters/],
    ['nothing as a number', integer(), '', /whole number$/],
    ['a fraction', integer(), '1.0', /whole number/],
    ['an exponent', integer(), '1e3', /whole number/],
    ['a plus sign', integer(), '+1', /whole number/],
    ['minus zero', integer(), '-0', /whole number/],
    ['a leading zero', integer(), '010', /whole number/],
    ['hexadecimal', integer(), '0x10', /whole number/],
    ['a space', integer(), ' 1', /whole number/],
    ['trailing words', integer(), '1 hour', /whole number/],
    ['sixteen digits', integer(), '9007199254740993', /whole number/],
    ['less than the bound', between, '0', /from 1 up to 65535/],
    ['more than the bound', between, '65536', /from 1 up to 65535/],
    ['another word', word, 'disk', /must be one of: memory, redis/],
    ['another case', word, 'Redis', /must be one of/],
    ['true for on', onOff, 'true', /must be on or off/],
    ['a repeated name', jsonTextMap, '{"a":"1","\\u0061":"2"}', /repeated/],
    ['an array', jsonTextMap, '["a"]', /must be a JSON object/],
    ['a number in the map', jsonTextMap, '{"a":"1","b":2}', /entry 2/],
    ['broken JSON', jsonTextMap, '{"a":', /must be a JSON object/],
  ])('%s', (_name, read, given, message) => {
    expect(() => read(given)).toThrow(SettingError)
    expect(() => read(given)).toThrow(message)
  })
})
