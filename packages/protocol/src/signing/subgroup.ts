/**
 * Full check of a public key: on the curve and in the subgroup of prime order. Needed only for keys that enter
 * configuration or the store (a few milliseconds each); a key with a small-order part would let its owner make
 * signatures on which batch and single verifiers disagree.
 */

const P = 2n ** 255n - 19n
const L = 2n ** 252n + 27742317777372353535851937790883648493n
const D = mod(-121665n * invert(121666n))
const SQRT_MINUS_ONE = power(2n, (P - 1n) / 4n)

interface Point {
  readonly x: bigint
  readonly y: bigint
  readonly z: bigint
  readonly t: bigint
}

const IDENTITY: Point = { x: 0n, y: 1n, z: 1n, t: 0n }

export function isInPrimeSubgroup(publicKey: Uint8Array): boolean {
  const point = decompress(publicKey)
  if (point === undefined) return false
  const product = multiply(point, L)
  return product.x === 0n && product.y === product.z
}

function decompress(bytes: Uint8Array): Point | undefined {
  let y = 0n
  for (let i = 31; i >= 0; i -= 1) y = (y << 8n) | BigInt(bytes[i] ?? 0)
  const sign = y >> 255n
  y &= (1n << 255n) - 1n
  if (y >= P) return undefined
  const u = mod(y * y - 1n)
  const v = mod(D * y * y + 1n)
  let x = mod(u * v ** 3n * power(mod(u * v ** 7n), (P - 5n) / 8n))
  if (mod(v * x * x) !== u) x = mod(x * SQRT_MINUS_ONE)
  if (mod(v * x * x) !== u) return undefined
  if (x === 0n && sign === 1n) return undefined
  if ((x & 1n) !== sign) x = P - x
  return { x, y, z: 1n, t: mod(x * y) }
}

/** Unified addition in extended coordinates (RFC 8032 section 5.1.4). */
function add(a: Point, b: Point): Point {
  const m = mod((a.y - a.x) * (b.y - b.x))
  const n = mod((a.y + a.x) * (b.y + b.x))
  const o = mod(2n * D * a.t * b.t)
  const q = mod(2n * a.z * b.z)
  const [e, f, g, h] = [n - m, q - o, q + o, n + m]
  return { x: mod(e * f), y: mod(g * h), z: mod(f * g), t: mod(e * h) }
}

// Public keys are public: this need not run in constant time.
function multiply(point: Point, scalar: bigint): Point {
  let [result, base] = [IDENTITY, point]
  for (let rest = scalar; rest > 0n; rest >>= 1n) {
    if ((rest & 1n) === 1n) result = add(result, base)
    base = add(base, base)
  }
  return result
}

function mod(value: bigint): bigint {
  const rest = value % P
  return rest < 0n ? rest + P : rest
}

function power(base: bigint, exponent: bigint): bigint {
  let [result, square] = [1n, mod(base)]
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if ((rest & 1n) === 1n) result = mod(result * square)
    square = mod(square * square)
  }
  return result
}

function invert(value: bigint): bigint {
  return power(mod(value), P - 2n)
}
