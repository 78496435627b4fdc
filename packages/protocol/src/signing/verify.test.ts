import * as fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { fromBase64, toBase64 } from '../canonical/base64.ts'
import { toUtf8 } from '../canonical/utf8.ts'
import { BACKENDS } from './backends.suite.ts'
import { nodeCrypto } from './platform-node.ts'
import type { Ed25519Backend } from './platform.ts'
import { type Signer, seedSigner, verifySignature } from './keys.ts'

const L = 2n ** 252n + 27742317777372353535851937790883648493n
const message = toUtf8('the message')
let signer: Signer
let signature: Uint8Array

beforeAll(async () => {
  signer = await seedSigner('k', toBase64(new Uint8Array(32).fill(5)))
  signature = await signer.sign(message)
})

/** The same signature with S + n·L: the equation still holds, so only the range check can refuse it. */
function addGroupOrder(bytes: Uint8Array, times: bigint): Uint8Array {
  let scalar = 0n
  for (let i = 63; i >= 32; i -= 1) scalar = (scalar << 8n) | BigInt(bytes[i] ?? 0)
  scalar += times * L
  return bytes.map((byte, i) => (i < 32 ? byte : Number((scalar >> BigInt(8 * (i - 32))) & 0xffn)))
}

describe.each(BACKENDS)('verifySignature with $name', (backend) => {
  it('accepts the signature under its key, given as text or bytes', async () => {
    const key = fromBase64(signer.publicKey) ?? new Uint8Array()
    expect(await verifySignature(signer.publicKey, message, toBase64(signature), backend)).toBe(true)
    expect(await verifySignature(key, message, toBase64(signature), backend)).toBe(true)
  })

  it('accepts no second signature for the same message: S + L, S + 2L …', async () => {
    for (let times = 1n; times < 15n; times += 1n) {
      const changed = toBase64(addGroupOrder(signature, times))
      expect(await verifySignature(signer.publicKey, message, changed, backend)).toBe(false)
    }
  })

  it('refuses every flipped bit of the signature', async () => {
    for (let bit = 0; bit < 512; bit += 1) {
      const changed = signature.map((byte, i) => (i === bit >> 3 ? byte ^ (1 << (bit & 7)) : byte))
      expect(await verifySignature(signer.publicKey, message, toBase64(changed), backend)).toBe(false)
    }
  })

  it.each([
    ['nothing', () => ''],
    ['no padding', () => toBase64(signature).slice(0, -2)],
    ['the url alphabet', () => toBase64(signature).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')],
    ['a line end', () => `${toBase64(signature)}\n`],
    ['63 bytes', () => toBase64(signature.subarray(1))],
    ['65 bytes', () => toBase64(Uint8Array.of(...signature, 0))],
    ['66 bytes, also 88 characters', () => toBase64(Uint8Array.of(...signature, 0, 0))],
    ['a stray bit', () => `${toBase64(signature).slice(0, -3)}${toBase64(signature).at(-3) === 'A' ? 'B' : 'C'}==`],
  ])('refuses %s in place of a signature', async (_name, text) => {
    expect(await verifySignature(signer.publicKey, message, text(), backend)).toBe(false)
  })

  it('refuses keys that are no key, and never throws', async () => {
    const sig = toBase64(signature)
    const offCurve = Uint8Array.of(2, ...new Uint8Array(31))
    for (const key of [
      '',
      'x',
      signer.publicKey.slice(0, -1),
      new Uint8Array(),
      new Uint8Array(33).fill(1),
      offCurve,
    ]) {
      expect(await verifySignature(key, message, sig, backend)).toBe(false)
    }
  })
})

describe('verifySignature', () => {
  it('is a "no" when the backend throws', async () => {
    const broken: Ed25519Backend = {
      name: 'broken',
      verify: () => Promise.reject(new Error('cannot import')),
      signer: nodeCrypto.signer,
    }
    expect(await verifySignature(signer.publicKey, message, toBase64(signature), broken)).toBe(false)
  })

  it('asks the backend only about acceptable values', async () => {
    let asked = 0
    const yes: Ed25519Backend = {
      name: 'yes to all',
      verify: () => {
        asked += 1
        return true
      },
      signer: nodeCrypto.signer,
    }
    const identity = Uint8Array.of(1, ...new Uint8Array(31))
    const weakR = toBase64(Uint8Array.of(...identity, ...signature.subarray(32)))
    expect(await verifySignature(identity, message, toBase64(signature), yes)).toBe(false)
    expect(await verifySignature(signer.publicKey, message, weakR, yes)).toBe(false)
    expect(await verifySignature(signer.publicKey, message, toBase64(addGroupOrder(signature, 1n)), yes)).toBe(false)
    expect(asked).toBe(0)
  })

  it('gives the same verdict with every backend on 2,000 mutations', async () => {
    const place = fc.record({
      part: fc.constantFrom('key', 'message', 'r', 's', 'none'),
      at: fc.nat(31),
      to: fc.nat(255),
    })
    const mutations = fc.sample(
      fc.tuple(fc.uint8Array({ minLength: 1, maxLength: 64 }), fc.array(place, { maxLength: 2 })),
      { numRuns: 2000, seed: 1 },
    )
    const verdicts = { accepted: 0, refused: 0 }
    for (const [text, changes] of mutations) {
      const signed = await signer.sign(text)
      const parts = {
        key: fromBase64(signer.publicKey) ?? new Uint8Array(),
        message: text.slice(),
        r: signed.slice(0, 32),
        s: signed.slice(32),
        none: new Uint8Array(32),
      }
      for (const { part, at, to } of changes) parts[part][at % parts[part].length] = to
      const sig = toBase64(Uint8Array.of(...parts.r, ...parts.s))
      const given = await Promise.all(
        BACKENDS.map((backend) => verifySignature(parts.key, parts.message, sig, backend)),
      )
      const [first = false] = given
      expect(given).toEqual(BACKENDS.map(() => first))
      verdicts[first ? 'accepted' : 'refused'] += 1
    }
    // Both kinds occur: backends that refuse everything would agree as well.
    expect(verdicts.accepted).toBeGreaterThan(100)
    expect(verdicts.refused).toBeGreaterThan(500)
  })
})
