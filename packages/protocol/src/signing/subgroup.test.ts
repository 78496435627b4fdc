import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { isInPrimeSubgroup } from './subgroup.ts'

function fromHex(text: string): Uint8Array {
  return Uint8Array.from(Buffer.from(text, 'hex'))
}

describe('isInPrimeSubgroup', () => {
  it('takes the base point and every key that was made from a seed', () => {
    expect(isInPrimeSubgroup(fromHex(`58${'66'.repeat(31)}`))).toBe(true)
    for (let i = 0; i < 20; i += 1) {
      const { publicKey } = generateKeyPairSync('ed25519')
      const { x = '' } = publicKey.export({ format: 'jwk' })
      expect(isInPrimeSubgroup(Uint8Array.from(Buffer.from(x, 'base64url')))).toBe(true)
    }
  })

  // The identity has an order that divides L; it is refused before, as a point of small order.
  it.each([
    ['order 2', `ec${'ff'.repeat(30)}7f`],
    ['order 4', '00'.repeat(32)],
    ['order 4, other sign', `${'00'.repeat(31)}80`],
    ['order 8', '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05'],
    ['order 8, other sign', '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85'],
    ['order 8, other y', 'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a'],
    // (x, y) + (0, -1) = (-x, -y): on the curve, not of small order, of order 2L.
    ['the base point plus the point of order 2', '9599999999999999999999999999999999999999999999999999999999999999'],
    ['y = 2, which is not on the curve', `02${'00'.repeat(31)}`],
    ['y = p', `ed${'ff'.repeat(30)}7f`],
    ['y = p + 1', `ee${'ff'.repeat(30)}7f`],
    ['x = 0 with a sign', `01${'00'.repeat(30)}80`],
  ])('refuses %s', (_name, hex) => {
    expect(isInPrimeSubgroup(fromHex(hex))).toBe(false)
  })
})
