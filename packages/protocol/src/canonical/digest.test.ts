import { describe, expect, it } from 'vitest'
import { digestOf, sha256, sha256Hex, toHex } from './digest.ts'
import { JsonFloat } from './utf8.ts'

describe('sha256Hex', () => {
  it.each([
    ['', 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'],
    ['abc', 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'],
  ])('of %j is the published value', (text, expected) => {
    expect(sha256Hex(text)).toBe(expected)
  })

  it('takes texts as UTF-8', () => {
    expect(sha256Hex('\u00eb')).toBe(sha256Hex(Uint8Array.of(0xc3, 0xab)))
  })
})

describe('digestOf', () => {
  it('covers the canonical form, so member order does not matter and number forms do', () => {
    expect(digestOf({ a: 1, b: 2 })).toBe(digestOf({ b: 2, a: 1 }))
    expect(digestOf({ a: 1, b: 2 })).toBe(sha256Hex('{"a":1,"b":2}'))
    expect(digestOf(new JsonFloat(1))).not.toBe(digestOf(1))
  })
})

describe('toHex', () => {
  it('writes two lowercase digits for each byte', () => {
    expect(toHex(Uint8Array.of(0, 1, 0xab, 255))).toBe('0001abff')
    expect(toHex(sha256(new Uint8Array()))).toHaveLength(64)
  })
})
