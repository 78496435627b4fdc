import { toHex } from '../canonical/digest.ts'
import { toUtf8 } from '../canonical/utf8.ts'

/**
 * SHA-256 (FIPS 180-4) for browsers. WebCrypto's digest is asynchronous, and digests stand inside pure, synchronous
 * rules (chains, trees, record digests); Node uses its own.
 */
export function sha256(bytes: Uint8Array): Uint8Array {
  const state = Uint32Array.from(INITIAL)
  const padded = pad(bytes)
  const view = new DataView(padded.buffer)
  const schedule = new Uint32Array(64)
  for (let offset = 0; offset < padded.length; offset += 64) compress(state, schedule, view, offset)
  const out = new Uint8Array(32)
  const outView = new DataView(out.buffer)
  state.forEach((word, index) => outView.setUint32(index * 4, word))
  return out
}

/** Lowercase hex over the UTF-8 form of a text. */
export function sha256Text(text: string): string {
  return toHex(sha256(toUtf8(text)))
}

function pad(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const padded = new Uint8Array(Math.ceil((bytes.length + 9) / 64) * 64)
  padded.set(bytes)
  padded[bytes.length] = 0x80
  new DataView(padded.buffer).setBigUint64(padded.length - 8, BigInt(bytes.length) * 8n)
  return padded
}

function compress(state: Uint32Array, schedule: Uint32Array, view: DataView, offset: number): void {
  const w = (index: number): number => schedule[index] as number
  for (let i = 0; i < 16; i += 1) schedule[i] = view.getUint32(offset + i * 4)
  for (let i = 16; i < 64; i += 1) {
    const s0 = rotate(w(i - 15), 7) ^ rotate(w(i - 15), 18) ^ (w(i - 15) >>> 3)
    const s1 = rotate(w(i - 2), 17) ^ rotate(w(i - 2), 19) ^ (w(i - 2) >>> 10)
    schedule[i] = w(i - 16) + s0 + w(i - 7) + s1
  }
  let [a, b, c, d, e, f, g, h] = state as unknown as Eight
  for (let i = 0; i < 64; i += 1) {
    const s1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)
    const choice = (e & f) ^ (~e & g)
    const first = (h + s1 + choice + (ROUND[i] as number) + w(i)) | 0
    const s0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)
    const majority = (a & b) ^ (a & c) ^ (b & c)
    h = g
    g = f
    f = e
    e = (d + first) | 0
    d = c
    c = b
    b = a
    a = (first + s0 + majority) | 0
  }
  ;[a, b, c, d, e, f, g, h].forEach((word, index) => {
    state[index] = (state[index] as number) + word
  })
}

type Eight = [number, number, number, number, number, number, number, number]

function rotate(word: number, by: number): number {
  return (word >>> by) | (word << (32 - by))
}

/** First 32 bits of the fractional parts of a root of the first primes: how FIPS 180-4 defines both tables. */
function fractionalBits(count: number, root: (prime: number) => number): number[] {
  const words: number[] = []
  for (let candidate = 2; words.length < count; candidate += 1) {
    let isPrime = true
    for (let by = 2; by * by <= candidate; by += 1) if (candidate % by === 0) isPrime = false
    if (isPrime) words.push(Math.floor((root(candidate) % 1) * 2 ** 32))
  }
  return words
}

const INITIAL: readonly number[] = fractionalBits(8, Math.sqrt)
const ROUND: readonly number[] = fractionalBits(64, Math.cbrt)
