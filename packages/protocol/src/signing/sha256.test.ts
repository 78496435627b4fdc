import { createHash, randomBytes } from 'node:crypto'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { toHex } from '../canonical/digest.ts'
import { sha256 } from './sha256.ts'

function expected(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

describe('sha256 without the platform', () => {
  it('gives the digest of the platform for every length over four blocks', () => {
    for (let length = 0; length <= 260; length += 1) {
      const bytes = randomBytes(length)
      expect(toHex(sha256(bytes))).toBe(expected(bytes))
    }
  })

  it('gives it for random bytes of any length', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 5000 }), (bytes) => {
        expect(toHex(sha256(bytes))).toBe(expected(bytes))
      }),
    )
  })

  it('gives it for a part of a larger buffer, and leaves the input alone', () => {
    const whole = randomBytes(300)
    const part = whole.subarray(7, 130)
    const before = toHex(part)
    expect(toHex(sha256(part))).toBe(expected(part))
    expect(toHex(part)).toBe(before)
  })

  it('gives the published value for a million letters', () => {
    const digest = 'cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0'
    expect(toHex(sha256(new Uint8Array(1_000_000).fill(0x61)))).toBe(digest)
  })
})
