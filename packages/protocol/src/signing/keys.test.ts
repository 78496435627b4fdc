import { describe, expect, it } from 'vitest'
import { toBase64 } from '../canonical/base64.ts'
import { isAcceptablePoint, isScalarInRange, readPublicKey, readSeed, readTrustedPublicKey } from './keys.ts'

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

const P = 2n ** 255n - 19n
const L = 2n ** 252n + 27742317777372353535851937790883648493n
const TOP = 2n ** 255n

/** 32 bytes, little endian. */
function encode(value: bigint): Uint8Array {
  return Uint8Array.from({ length: 32 }, (_, i) => Number((value >> BigInt(8 * i)) & 0xffn))
}

describe('isAcceptablePoint', () => {
  it('refuses every y from the prime to 2^255 - 1, with either sign', () => {
    for (let y = P; y < TOP; y += 1n) {
      expect(isAcceptablePoint(encode(y))).toBe(false)
      expect(isAcceptablePoint(encode(y | TOP))).toBe(false)
    }
  })

  it('takes y up to the prime, except the points of small order', () => {
    // p - 1 is y = -1, of order 2.
    for (const y of [
      2n,
      3n,
      18n,
      19n,
      P - 2n,
      P - 3n,
      P - 237n,
      P - 238n,
      2n ** 254n,
      2n ** 248n - 1n,
      P - 2n ** 200n,
    ]) {
      expect(isAcceptablePoint(encode(y))).toBe(true)
      expect(isAcceptablePoint(encode(y | TOP))).toBe(true)
    }
  })

  it.each([
    '0000000000000000000000000000000000000000000000000000000000000000',
    '0100000000000000000000000000000000000000000000000000000000000000',
    'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
    '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
    'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  ])('refuses %s with either sign, and takes its neighbours', (hex) => {
    const bytes = Uint8Array.from(Buffer.from(hex, 'hex'))
    expect(isAcceptablePoint(bytes)).toBe(false)
    expect(isAcceptablePoint(bytes.with(31, (bytes[31] ?? 0) | 0x80))).toBe(false)
    // One changed byte in the middle is another point: the comparison must look at all of them.
    expect(isAcceptablePoint(bytes.with(15, (bytes[15] ?? 0) ^ 1))).toBe(true)
    expect(isAcceptablePoint(bytes.with(31, (bytes[31] ?? 0) ^ 1))).toBe(true)
  })

  it.each([0, 31, 33, 64])('refuses %i bytes', (length) => {
    expect(isAcceptablePoint(new Uint8Array(length).fill(9))).toBe(false)
  })
})

describe('isScalarInRange', () => {
  it.each([0n, 1n, L - 1n, L - 2n ** 100n, 2n ** 252n - 1n, 2n ** 252n])('takes %s', (scalar) => {
    expect(isScalarInRange(encode(scalar))).toBe(true)
  })

  it.each([L, L + 1n, 2n * L, 8n * L, 2n ** 253n, 2n ** 255n, 2n ** 256n - 1n, L + 2n ** 100n])(
    'refuses %s',
    (scalar) => {
      expect(isScalarInRange(encode(scalar))).toBe(false)
    },
  )
})
