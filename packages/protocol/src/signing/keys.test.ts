import { describe, expect, it } from 'vitest'
import { toBase64 } from '../canonical/base64.ts'
import { readPublicKey, readSeed, readTrustedPublicKey } from './keys.ts'

const KEY = 'xkDJSaRh6CbP8CHxk12w600CYuv9TFCLIS3hemfVvJE='

describe.each([
  ['readPublicKey', readPublicKey],
  ['readTrustedPublicKey', readTrustedPublicKey],
  ['readSeed', readSeed],
])('%s', (_name, read) => {
  it('reads the text that its bytes encode to', () => {
    const bytes = read(KEY)
    expect(bytes).toHaveLength(32)
    expect(toBase64(bytes ?? new Uint8Array())).toBe(KEY)
  })

  it.each([
    ['nothing', ''],
    ['no padding', KEY.slice(0, -1)],
    ['stray bits', `${KEY.slice(0, -2)}F=`],
    ['the url alphabet', '_kDJSaRh6CbP8CHxk12w600CYuv9TFCLIS3hemfVvJE='],
    ['a line end', `${KEY}\n`],
    ['a space before', ` ${KEY}`],
    ['hex', 'c640c949a461e826cff021f1935db0eb4d0262ebfd4c508b212de17a67d5bc91'],
    ['31 bytes', toBase64(new Uint8Array(31).fill(7))],
    ['33 bytes', toBase64(new Uint8Array(33).fill(7))],
    ['the same key twice', KEY + KEY],
  ])('refuses %s', (_case, text) => {
    expect(read(text)).toBeUndefined()
  })
})

describe('readTrustedPublicKey', () => {
  it('also refuses what is no point, or a point outside the prime subgroup', () => {
    const offCurve = toBase64(Uint8Array.of(2, ...new Uint8Array(31)))
    const mixedOrder = toBase64(Uint8Array.of(0x95, ...new Uint8Array(31).fill(0x99)))
    for (const text of [offCurve, mixedOrder]) {
      expect(readPublicKey(text)).toBeDefined()
      expect(readTrustedPublicKey(text)).toBeUndefined()
    }
  })
})
