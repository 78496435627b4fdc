import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { JsonFloat, type JsonObject, type JsonValue } from '../canonical/utf8.ts'
import { FormError } from './schema.ts'
import {
  freeForm,
  identifier,
  instantOf,
  isKeyId,
  isNonce,
  isPlainText,
  keyId,
  plainText,
  requireOrder,
  signatures,
} from './text.ts'

const FACE = '\u{1f600}'

describe('plainText', () => {
  it('counts code points', () => {
    expect(plainText(2)(FACE + FACE, 'f')).toBe(FACE + FACE)
    expect(() => plainText(2)(FACE + FACE + FACE, 'f')).toThrow('f: 1 to 2 characters without control characters')
    expect(() => plainText(2)('abc', 'f')).toThrow(FormError)
    expect(isPlainText('', 5)).toBe(false)
    expect(isPlainText('', 5, 0)).toBe(true)
  })

  it('agrees with a count of code points whatever the text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 12 }), fc.nat(10), (text, max) => {
        const hasControl = [...text].some((point) => {
          const code = point.codePointAt(0) ?? 0
          return code < 0x20 || (code >= 0x7f && code <= 0x9f)
        })
        const count = [...text].length
        expect(isPlainText(text, max)).toBe(count >= 1 && count <= max && !hasControl)
      }),
      { numRuns: 2000 },
    )
  })

  it('refuses every control character and no neighbour of one', () => {
    const refused = Array.from({ length: 0x100 }, (_, code) => code).filter(
      (code) => !isPlainText(String.fromCharCode(code), 1),
    )
    const controls = [...Array.from({ length: 0x20 }, (_, i) => i), ...Array.from({ length: 0x21 }, (_, i) => 0x7f + i)]
    expect(refused).toEqual(controls)
  })
})

describe('names', () => {
  it.each<[string, boolean]>([
    ['na-2025-q1', true],
    ['A.z_0:@/+=-', true],
    ['x'.repeat(128), true],
    ['x'.repeat(129), false],
    ['', false],
    ['a b', false],
    ['ë', false],
    ['a\n', false],
    ['a,b', false],
  ])('key id %j: %s', (text, isGood) => {
    expect(isKeyId(text)).toBe(isGood)
    if (isGood) expect(keyId(text, 'f')).toBe(text)
    else expect(() => keyId(text, 'f')).toThrow(FormError)
  })

  it.each<[string, boolean]>([
    ['n', true],
    ['!~', true],
    ['n'.repeat(128), true],
    ['n'.repeat(129), false],
    ['', false],
    [' ', false],
    ['a\n', false],
    ['\u007f', false],
    ['ë', false],
  ])('nonce %j: %s', (text, isGood) => {
    expect(isNonce(text)).toBe(isGood)
  })

  it('an identifier is any visible text of 128 characters', () => {
    expect(identifier(FACE.repeat(128), 'f')).toBe(FACE.repeat(128))
    expect(() => identifier(FACE.repeat(129), 'f')).toThrow(FormError)
  })
})

describe('requireOrder', () => {
  const order = (from: string, sign: '<' | '<=', to: string) => (): void =>
    requireOrder({ from, to }, 'from', sign, 'to')
  it('compares instants across zones and digits', () => {
    expect(order('2030-01-01T00:00:00Z', '<', '2030-01-01T00:00:00.000001Z')).not.toThrow()
    expect(order('2030-01-01T02:00:00+02:00', '<=', '2030-01-01T00:00:00Z')).not.toThrow()
    expect(order('2030-01-01T02:00:00+02:00', '<', '2030-01-01T00:00:00Z')).toThrow('to: must be later than from')
    expect(order('2030-01-01T00:00:01Z', '<=', '2030-01-01T00:00:00Z')).toThrow('to: must be not before from')
    // Digits beyond microseconds are cut off.
    expect(order('2030-01-01T00:00:00.0000001Z', '<', '2030-01-01T00:00:00.0000009Z')).toThrow(FormError)
  })

  it('instantOf needs an instant', () => {
    expect(instantOf('1970-01-01T00:00:01Z')).toBe(1_000_000n)
    expect(() => instantOf('yesterday')).toThrow(FormError)
  })
})

describe('freeForm', () => {
  const nested = (depth: number, leaf: JsonValue = 1): JsonObject => ({
    a: depth === 1 ? leaf : nested(depth - 1, leaf),
  })

  it('is nested at most 16 deep, lists counted, floats not', () => {
    expect(freeForm(1000)(nested(16), 'f')).toEqual(nested(16))
    expect(freeForm(1000)(nested(16, new JsonFloat(1)), 'f')).toBeDefined()
    for (const leaf of [{}, []]) expect(() => freeForm(1000)(nested(16, leaf), 'f')).toThrow('f: is nested too deeply')
  })

  it('is bounded by its canonical bytes, not by how it was written', () => {
    expect(freeForm(14)({ a: 'ë' }, 'f')).toBeDefined()
    expect(() => freeForm(14)({ a: 'ëx' }, 'f')).toThrow('f: is larger than 14 bytes')
    expect(freeForm(10)({ a: new JsonFloat(90) }, 'f')).toBeDefined()
    expect(() => freeForm(9)({ a: new JsonFloat(90) }, 'f')).toThrow(FormError)
  })

  it.each([null, [], 'x', 1, true, new JsonFloat(1)] as JsonValue[])('is an object, not %j', (value) => {
    expect(() => freeForm(100)(value, 'f')).toThrow('f: an object is needed')
  })
})

describe('signatures', () => {
  const sig = Buffer.alloc(64, 7).toString('base64')
  const many = (count: number): JsonValue[] => Array.from({ length: count }, () => ({ key_id: 'k', sig }))

  it('are at most eight', () => {
    expect(signatures(many(8), 'f')).toHaveLength(8)
    expect(() => signatures(many(9), 'f')).toThrow('f: has too many items')
  })

  it.each([
    sig.slice(4),
    `${sig}AAAA`,
    sig.replaceAll('B', '-'),
    sig.replace(/=+$/, ''),
    Buffer.alloc(63, 7).toString('base64').padEnd(88, '='),
    '',
  ])('have 64 bytes in base64: %s', (text) => {
    expect(() => signatures([{ key_id: 'k', sig: text }], 'f')).toThrow(/f\[0\]\.sig: a signature in base64/)
  })
})
