import { type JsonObject, toUtf8, writeJson } from '@chancery/protocol'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DocumentHead } from './document-head.ts'

// Holds: the head of a document is what a reader of the whole document finds, and a document without one is found
// without reading its contents.

const ANY_VALUE = fc.anything({ values: [fc.string(), fc.integer(), fc.constant(null)], maxDepth: 3, maxKeys: 4 })

describe('the head of a document', () => {
  it('has the members of any object, with the number of their values', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), ANY_VALUE, { maxKeys: 20 }), fc.constantFrom(0, 2), (value, indent) => {
        const head = new DocumentHead(toUtf8(JSON.stringify(value, undefined, indent)))
        for (const [name, member] of Object.entries(value)) {
          const isList = typeof member === 'object' && member !== null
          expect(head.count(name)).toBe(Math.max(1, isList ? Object.keys(member).length : 1))
          expect(writeJson(head.read(name) ?? null)).toBe(JSON.stringify(member))
        }
        expect([head.count('not there'), head.read('not there')]).toEqual([0, undefined])
      }),
    )
  })

  it.each([
    ['', 'malformed'],
    ['[]', 'malformed'],
    ['{"a":1', 'malformed'],
    ['{"a":1,"a":2}', 'malformed'],
    ['{"a" 1}', 'malformed'],
    ['{a:1}', 'malformed'],
    ['{"a":"x\\"}', 'malformed'],
    [`{${Array.from({ length: 33 }, (_, n) => `"m${n}":0`).join(',')}}`, 'malformed'],
  ])('is refused: %s', (text, outcome) => {
    expect(() => new DocumentHead(toUtf8(text))).toThrow(expect.objectContaining({ outcome }))
  })

  it.each<[string, JsonObject]>([
    ['no signatures', {}],
    ['an empty list', { signatures: [] }],
    ['another value', { signatures: 'x' }],
    ['entries without a signature', { signatures: [1, {}] }],
  ])('is not signed with %s', (_name, members) => {
    const head = new DocumentHead(toUtf8(writeJson(members)))
    expect(() => head.requireSigned()).toThrow(expect.objectContaining({ outcome: 'unauthentic' }))
  })
})
