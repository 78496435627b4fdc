import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { fromBase64, readPublicKey, readTrustedPublicKey, toBase64, toHex, toUtf8, verifySignature } from '../index.ts'
import { BACKENDS } from '../signing/backends.suite.ts'
import { WEAK_MESSAGES, WEAK_POINTS, WEAK_SCALARS, type WeakKeyVerifier, checkWeakKeys } from './weak-keys.ts'

// The slow textbook arithmetic below is the lax verifier the matrix is aimed at, and makes keys no library makes.
// Nothing of it is shared with the product, so that one mistake cannot hide in both.

const P = 2n ** 255n - 19n
const L = 2n ** 252n + 27742317777372353535851937790883648493n
const D = modulo(-121665n * power(121666n, P - 2n))

type Point = readonly [x: bigint, y: bigint]
const IDENTITY: Point = [0n, 1n]
const BASE = decodeLaxly(fromHex(`58${'66'.repeat(31)}`)) as Point

function modulo(value: bigint): bigint {
  return ((value % P) + P) % P
}

function power(base: bigint, exponent: bigint): bigint {
  let result = 1n
  for (let [square, rest] = [modulo(base), exponent]; rest > 0n; rest >>= 1n) {
    if ((rest & 1n) === 1n) result = modulo(result * square)
    square = modulo(square * square)
  }
  return result
}

/** Affine addition with two divisions: the definition of the group, without optimisation. Sums are cached, for the matrix. */
const sums = new Map<string, Point>()
function add(a: Point, b: Point): Point {
  const name = [...a, ...b].map((coordinate) => coordinate.toString(36)).join()
  const sum = sums.get(name) ?? addSlowly(a, b)
  sums.set(name, sum)
  return sum
}

function addSlowly([x1, y1]: Point, [x2, y2]: Point): Point {
  const product = modulo(D * modulo(x1 * x2) * modulo(y1 * y2))
  return [
    modulo((x1 * y2 + y1 * x2) * power(1n + product, P - 2n)),
    modulo((y1 * y2 + x1 * x2) * power(1n - product, P - 2n)),
  ]
}

function multiply(point: Point, scalar: bigint): Point {
  let result = IDENTITY
  for (let [base, rest] = [point, scalar]; rest > 0n; rest >>= 1n) {
    if ((rest & 1n) === 1n) result = add(result, base)
    base = add(base, base)
  }
  return result
}

function isSame(a: Point, b: Point): boolean {
  return a[0] === b[0] && a[1] === b[1]
}

/** What old libraries do: y is reduced instead of refused, and the sign of x = 0 is ignored. */
function decodeLaxly(bytes: Uint8Array): Point | undefined {
  const y = modulo(toInteger(bytes) & (2n ** 255n - 1n))
  const square = modulo((y * y - 1n) * power(D * y * y + 1n, P - 2n))
  let x = power(square, (P + 3n) / 8n)
  if (modulo(x * x) !== square) x = modulo(x * power(2n, (P - 1n) / 4n))
  if (modulo(x * x) !== square) return undefined
  return [(x & 1n) === toInteger(bytes) >> 255n ? x : modulo(-x), y]
}

function encode([x, y]: Point): Uint8Array {
  return fromInteger(y | ((x & 1n) << 255n))
}

function toInteger(bytes: Uint8Array): bigint {
  return BigInt(`0x${toHex(bytes.toReversed())}`)
}

function fromInteger(value: bigint): Uint8Array {
  return fromHex(value.toString(16).padStart(64, '0')).toReversed()
}

function fromHex(text: string): Uint8Array {
  return Uint8Array.from(Buffer.from(text, 'hex'))
}

function challenge(r: Uint8Array, a: Uint8Array, message: Uint8Array): bigint {
  const digest = createHash('sha512').update(r).update(a).update(message).digest()
  return toInteger(Uint8Array.from(digest)) % L
}

/** Points and multiples the matrix asks for thousands of times. */
function store<Result>(compute: (name: string) => Result): (name: string) => Result {
  const known = new Map<string, Result>()
  return (name) => {
    const result = known.get(name) ?? compute(name)
    known.set(name, result)
    return result
  }
}
const decodeOnce = store((hex) => decodeLaxly(fromHex(hex)))
const baseTimes = store((scalar) => multiply(BASE, BigInt(scalar)))

/** No rule of 1.5 at all; only for keys of small order, where [k]A repeats after eight. */
function laxly(cofactor: 1n | 8n): WeakKeyVerifier {
  return (publicKey, message, signature) => {
    const key = bytesOf(publicKey)
    const [r, s] = [bytesOf(signature).subarray(0, 32), bytesOf(signature).subarray(32)]
    const [a, point] = [decodeOnce(toHex(key)), decodeOnce(toHex(r))]
    if (a === undefined || point === undefined) return false
    const right = add(point, multiply(a, challenge(r, key, message) % 8n))
    return isSame(multiply(baseTimes(String(toInteger(s))), cofactor), multiply(right, cofactor))
  }
}

function bytesOf(base64: string): Uint8Array {
  return fromBase64(base64) ?? new Uint8Array()
}

describe('weak points', () => {
  it('are exactly the encodings a lax decoder takes for the eight points of small order', () => {
    const order8 = decodeLaxly(fromHex(WEAK_POINTS[4] ?? '')) as Point
    const torsion = Array.from({ length: 8 }, (_, i) => multiply(order8, BigInt(i)))
    expect(new Set(torsion.map(String)).size).toBe(8)

    const encodings = new Set<string>()
    for (const [, y] of torsion) {
      for (const spelled of [y, y + P].filter((value) => value < 2n ** 255n)) {
        for (const sign of [0n, 2n ** 255n]) encodings.add(toHex(fromInteger(spelled | sign)))
      }
    }
    expect(new Set(WEAK_POINTS)).toEqual(encodings)
    expect(WEAK_POINTS).toHaveLength(14)
  })

  it('are paired with scalars that are zero modulo the group order', () => {
    expect(WEAK_SCALARS.map((hex) => toInteger(fromHex(hex)))).toEqual([0n, L])
  })

  it.each(WEAK_POINTS)('%s is no public key, whatever the reader', (hex) => {
    const text = toBase64(fromHex(hex))
    expect(readPublicKey(text)).toBeUndefined()
    expect(readTrustedPublicKey(text)).toBeUndefined()
  })
})

describe('weak key matrix', () => {
  const whole = WEAK_POINTS.length ** 2 * WEAK_SCALARS.length * WEAK_MESSAGES

  it.each(BACKENDS)('is refused as a whole with $name', async (backend) => {
    const texts = await checkWeakKeys((key, message, signature) => verifySignature(key, message, signature, backend))
    expect(texts).toEqual({ cases: 12_544, accepted: 0 })
    expect(whole).toBe(12_544)
  })

  it('is refused as a whole when the key arrives as bytes', async () => {
    const verify: WeakKeyVerifier = (key, message, signature) => verifySignature(bytesOf(key), message, signature)
    expect((await checkWeakKeys(verify)).accepted).toBe(0)
  })

  it('bites: a verifier with cofactor and without rules accepts every case', async () => {
    expect(await checkWeakKeys(laxly(8n))).toEqual({ cases: whole, accepted: whole })
  })

  // A library without such rules behaves like these two: OpenSSL 3.0.19 (Node 20) called directly accepts 458 of
  // the cases. OpenSSL 3.5 (Node 26) refuses points of small order itself; the verdict must not depend on the version.
  it('bites: a verifier without cofactor and without rules accepts thousands', async () => {
    expect(await checkWeakKeys(laxly(1n))).toEqual({ cases: whole, accepted: 2554 })
  })
})

describe('points of mixed order', () => {
  // a·B + T: not of small order, on the curve, accepted by common libraries; T is the part that makes verifiers differ.
  const order8 = decodeLaxly(fromHex(WEAK_POINTS[4] ?? '')) as Point
  const torsion = Array.from({ length: 7 }, (_, i) => multiply(order8, BigInt(i + 1)))
  const secret = 0x1234567890abcdef1234567890abcdefn
  const valid = multiply(BASE, secret)
  const messages = Array.from({ length: 64 }, (_, i) => toUtf8(`message ${i}`))

  /** S = 1 + k·a for R = B (+ T): the signature that the owner of `secret` can make under either key. */
  function signatureFor(r: Uint8Array, key: Uint8Array, message: Uint8Array): string {
    const s = fromInteger((1n + challenge(r, key, message) * secret) % L)
    return toBase64(Uint8Array.from([...r, ...s]))
  }

  it('accepts and verifies the valid key', async () => {
    const key = encode(valid)
    expect(readTrustedPublicKey(toBase64(key))).toEqual(key)
    const [message] = messages as [Uint8Array]
    const signature = signatureFor(encode(BASE), key, message)
    for (const backend of BACKENDS)
      expect(await verifySignature(toBase64(key), message, signature, backend), backend.name).toBe(true)
  })

  it('are never trusted as keys', () => {
    for (const part of torsion) {
      for (const point of [valid, BASE])
        expect(readTrustedPublicKey(toBase64(encode(add(point, part))))).toBeUndefined()
    }
  })

  it('give the verdict of the equation without cofactor, on both backends', async () => {
    // 1.5: no cofactor multiplication. With it all of these would verify; without it, only where [k]T vanishes.
    let accepted = 0
    for (const message of messages) {
      const key = encode(add(valid, order8))
      const expected = challenge(encode(BASE), key, message) % 8n === 0n
      const signature = signatureFor(encode(BASE), key, message)
      for (const backend of BACKENDS)
        expect(await verifySignature(toBase64(key), message, signature, backend), backend.name).toBe(expected)
      if (expected) accepted += 1
    }
    expect(accepted).toBeGreaterThan(0)
    expect(accepted).toBeLessThan(messages.length)
  })

  it('are refused as R', async () => {
    const key = encode(valid)
    for (const part of torsion) {
      const r = encode(add(BASE, part))
      for (const message of messages.slice(0, 8)) {
        const signature = signatureFor(r, key, message)
        for (const backend of BACKENDS)
          expect(await verifySignature(toBase64(key), message, signature, backend), backend.name).toBe(false)
      }
    }
  })
})
