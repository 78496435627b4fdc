import { describe, expect, it } from 'vitest'
import { writeJson } from './canonical-json.ts'
import { JsonFloat, type JsonValue } from './utf8.ts'
import { writePlainJson } from './plain-json.ts'

describe('writePlainJson', () => {
  it('writes what writeJson writes', () => {
    const values: readonly JsonValue[] = [
      null,
      true,
      'text',
      0,
      -0,
      1.5,
      2n ** 60n,
      new JsonFloat(3),
      [],
      {},
      { b: 1, a: [null, { 10: 'ten', 9: 'nine' }], __proto__: null },
      { line: 'a\nb', quote: '"\\', delete: '\u007f', umlaut: 'ü', pair: '😀', escape: String.raw`\ud83d` },
      { deep: Array.from({ length: 40 }).reduce<JsonValue>((inner) => [inner], 'end') },
    ]
    for (const value of values) expect(writePlainJson(value)).toBe(writeJson(value))
  })

  it('refuses what writeJson refuses', () => {
    const circular: { own?: JsonValue } = {}
    circular.own = circular as JsonValue
    for (const value of [undefined, { a: undefined }, new Date(), '\ud800', ['\ud800'], 2 ** 60, circular])
      expect(() => writePlainJson(value as JsonValue)).toThrow(TypeError)
  })
})
