import { toBase64 } from '../canonical/base64.ts'
import { toUtf8 } from '../canonical/utf8.ts'

/**
 * Every 32-byte text that a lax decoder turns into one of the eight points of small order: exactly fourteen.
 *
 * Eight are the canonical encodings, one per point:
 *   order 1: y = 1;  order 2: y = -1;  order 4: y = 0 with either sign of x;  order 8: two y with either sign of x.
 * Six more name the same points a second time:
 *   x = 0 has no sign, yet y = 1 and y = -1 can be written with the sign bit set (2);
 *   y from 0 to 18 also fits into 255 bits as y + p, which of the small-order points only y = 0 and y = 1 allow:
 *   p and p + 1, each with either sign bit (4). The y of order 8 and y = -1 are too large to have p added.
 */
export const WEAK_POINTS: readonly string[] = [
  '0100000000000000000000000000000000000000000000000000000000000000',
  'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  '0000000000000000000000000000000000000000000000000000000000000000',
  '0000000000000000000000000000000000000000000000000000000000000080',
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa',
  '0100000000000000000000000000000000000000000000000000000000000080',
  'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff',
  'edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff',
  'eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff',
]

/**
 * With A and R of small order the equation [S]B = R + [k]A can only hold for S = 0 modulo the group order L. Zero
 * passes every range check; L itself is below 2^253 and passes the old check of the three top bits.
 */
export const WEAK_SCALARS: readonly string[] = [
  '0000000000000000000000000000000000000000000000000000000000000000',
  'edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010',
]

/**
 * Without cofactor the case also needs R = -[k]A, and k depends on the message: a message hits for one in up to eight
 * tries, so that with 32 of them almost every fitting pair has a forgery. With cofactor every single case is one.
 */
export const WEAK_MESSAGES = 32

/** Key and signature as texts, as they arrive in records. */
export type WeakKeyVerifier = (publicKey: string, message: Uint8Array, signature: string) => boolean | Promise<boolean>

export interface WeakKeyResult {
  readonly cases: number
  readonly accepted: number
}

/** 14 keys × 14 values of R × 2 of S × 32 messages = 12544 forgeries; a sound verifier accepts none. */
export async function checkWeakKeys(verify: WeakKeyVerifier): Promise<WeakKeyResult> {
  const messages = Array.from({ length: WEAK_MESSAGES }, (_, i) => toUtf8(`nobody signed message ${i}`))
  let cases = 0
  let accepted = 0
  for (const a of WEAK_POINTS) {
    const publicKey = toBase64(fromHex(a))
    for (const r of WEAK_POINTS) {
      for (const s of WEAK_SCALARS) {
        const signature = toBase64(fromHex(r + s))
        for (const message of messages) {
          cases += 1
          if (await verify(publicKey, message, signature)) accepted += 1
        }
      }
    }
  }
  return { cases, accepted }
}

function fromHex(text: string): Uint8Array {
  return Uint8Array.from({ length: text.length / 2 }, (_, i) => Number.parseInt(text.slice(i * 2, i * 2 + 2), 16))
}
