/**
 * The strictness rules of protocol/core 1.5, applied before any backend: which 32 bytes may be a public key or the
 * R of a signature, and which S is in range. Libraries differ here; a signature one of them accepts and another
 * refuses is a way to make two correct verifiers disagree.
 */

const PRIME_LOW = 0xed
const ALL_ONES = 0xff

// Points of order 1, 2, 4 and 8, sign bit cleared. Under such a key a signature can be valid for many messages.
const SMALL_ORDER: readonly Uint8Array[] = [
  '0000000000000000000000000000000000000000000000000000000000000000',
  '0100000000000000000000000000000000000000000000000000000000000000',
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
].map(fromHex)

// The order of the base point, 2^252 + 27742317777372353535851937790883648493, little endian.
const GROUP_ORDER: Uint8Array = fromHex('edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010')

/** True for 32 bytes with y below the field prime that are not a point of small order. */
export function isAcceptablePoint(bytes: Uint8Array): boolean {
  return bytes.length === 32 && isReducedY(bytes) && !isSmallOrder(bytes)
}

/** True when S is below the group order: otherwise S + L would be a second signature for the same message. */
export function isScalarInRange(scalar: Uint8Array): boolean {
  for (let i = 31; i >= 0; i -= 1) {
    const digit = scalar[i] as number
    const bound = GROUP_ORDER[i] as number
    if (digit !== bound) return digit < bound
  }
  return false
}

function isSmallOrder(bytes: Uint8Array): boolean {
  for (const point of SMALL_ORDER) if (isSamePoint(point, bytes)) return true
  return false
}

function isSamePoint(point: Uint8Array, bytes: Uint8Array): boolean {
  for (let i = 0; i < 31; i += 1) if (point[i] !== bytes[i]) return false
  return point[31] === maskedTop(bytes)
}

/** y < 2^255 - 19. Only the encodings from p to 2^255 - 1 fail: all ones but the lowest byte. */
function isReducedY(bytes: Uint8Array): boolean {
  if (maskedTop(bytes) !== 0x7f || (bytes[0] as number) < PRIME_LOW) return true
  for (let i = 1; i < 31; i += 1) if (bytes[i] !== ALL_ONES) return true
  return false
}

function maskedTop(bytes: Uint8Array): number {
  return (bytes[31] as number) & 0x7f
}

function fromHex(text: string): Uint8Array {
  return Uint8Array.from({ length: text.length / 2 }, (_, i) => Number.parseInt(text.slice(i * 2, i * 2 + 2), 16))
}
