import { beforeAll, describe, expect, it } from 'vitest'
import { toBase64 } from '../canonical/base64.ts'
import { toUtf8 } from '../canonical/utf8.ts'
import { type Signature, type Signer, seedSigner } from './keys.ts'
import { CHECKS_PER_RECORD, CheckSlices, TooManyChecksError, checksAllowed, verifyAny } from './verify-any.ts'

const message = toUtf8('the message')
let signers: Signer[]
let keys: string[]
/** One good signature of each of the first signers. */
let good: Signature[]
/** Eight signatures over something else: well-formed, and under no key. */
let bad: Signature[]

beforeAll(async () => {
  signers = await Promise.all(
    Array.from({ length: 64 }, (_, n) => seedSigner(`k-${n}`, toBase64(new Uint8Array(32).fill(n + 1)))),
  )
  keys = signers.map((signer) => signer.publicKey)
  const sign = async (signer: Signer, text: Uint8Array): Promise<Signature> => ({
    key_id: signer.keyId,
    sig: toBase64(await signer.sign(text)),
  })
  good = await Promise.all(signers.map((signer) => sign(signer, message)))
  bad = await Promise.all(signers.slice(0, 8).map((signer, n) => sign(signer, toUtf8(`other ${n}`))))
})

const at = <Value>(list: readonly Value[], index: number): Value => list.at(index) as Value

describe('one of several signatures under one of several keys', () => {
  it('is found under the last of 64 keys, as the last of 8, and as the last of 8 under the last of 16', async () => {
    expect(await verifyAny(message, [at(good, 63)], keys)).toBe(true)
    expect(await verifyAny(message, [...bad.slice(1), at(good, 0)], [at(keys, 0)])).toBe(true)
    expect(await verifyAny(message, [...bad.slice(1), at(good, 15)], keys.slice(0, 16))).toBe(true)
  })

  it('is denied when every pair was tried', async () => {
    expect(await verifyAny(message, bad, keys.slice(0, 16))).toBe(false)
    expect(await verifyAny(message, bad.slice(0, 2), keys)).toBe(false)
    expect(await verifyAny(message, [at(good, 0)], keys.slice(1))).toBe(false)
    expect(await verifyAny(message, [], keys)).toBe(false)
    expect(await verifyAny(message, good, [])).toBe(false)
  })

  it('gets no verdict where not every pair may be tried', async () => {
    await expect(verifyAny(message, bad, keys)).rejects.toThrow(TooManyChecksError)
    await expect(verifyAny(message, [...bad.slice(1), at(good, 63)], keys)).rejects.toThrow(TooManyChecksError)
    await expect(verifyAny(message, bad, keys.slice(0, 17))).rejects.toThrow(TooManyChecksError)
  })

  it('tries equal pairs once, and neither signatures nor keys of a wrong form', async () => {
    const same = Array.from({ length: 8 }, () => at(bad, 0))
    expect(await verifyAny(message, same, keys)).toBe(false)
    expect(
      await verifyAny(
        message,
        bad,
        Array.from({ length: 64 }, () => at(keys, 0)),
      ),
    ).toBe(false)
    const malformed = bad.slice(0, 7).map(({ key_id, sig }) => ({ key_id, sig: sig.slice(1) }))
    expect(await verifyAny(message, [...malformed, at(good, 63)], keys)).toBe(true)
    const weak = Array.from({ length: 48 }, () => toBase64(new Uint8Array(32)))
    expect(await verifyAny(message, bad, [...weak, ...keys.slice(0, 16)])).toBe(false)
  })

  it('is tried first under the key that its key id names', async () => {
    const named = { ...at(good, 63), key_id: at(keys, 63) }
    expect(await verifyAny(message, [...bad.slice(1), named], keys)).toBe(true)
  })

  it('is not trusted because of its key id, and not refused because of a wrong one', async () => {
    const named = { ...at(good, 63), key_id: at(keys, 63) }
    expect(await verifyAny(message, [named], keys.slice(0, 63))).toBe(false)
    const mislabelled = { ...at(good, 5), key_id: at(keys, 7) }
    expect(await verifyAny(message, [mislabelled], keys)).toBe(true)
  })
})

describe('the allowed verifications', () => {
  it('are fewer for large records, and never fewer than there are signatures', () => {
    expect(checksAllowed(0)).toBe(CHECKS_PER_RECORD)
    expect(checksAllowed(131_072)).toBe(128)
    expect(checksAllowed(1_048_576)).toBe(16)
    expect(checksAllowed(2_097_152)).toBe(8)
    expect(checksAllowed(150_000_000)).toBe(8)
  })

  it('end a large record after eight tries', async () => {
    const large = new Uint8Array(1_900_000)
    await expect(verifyAny(large, [at(bad, 0)], keys)).rejects.toThrow(TooManyChecksError)
    expect(await verifyAny(large, bad, keys.slice(0, 1))).toBe(false)
  })
})

describe('slices', () => {
  const turnsUntil = async (work: Promise<unknown>): Promise<number> => {
    const { setImmediate } = globalThis as unknown as { setImmediate: (next: () => void) => void }
    let [turns, isOver] = [0, false]
    const count = (): void => {
      turns += 1
      if (!isOver) setImmediate(count)
    }
    setImmediate(count)
    await work
    isOver = true
    return turns
  }
  const run = async (checks: number, messageBytes?: number): Promise<void> => {
    const slices = new CheckSlices(messageBytes)
    for (let done = 0; done < checks; done += 1) await slices.next()
  }

  it('of all runs share the turns of the event loop: one slice in each', async () => {
    expect(await turnsUntil(run(16))).toBeLessThan(2)
    const alone = await turnsUntil(run(160))
    expect(alone).toBeGreaterThanOrEqual(9)
    const together = await turnsUntil(Promise.all([run(160), run(160), run(160)]))
    expect(together).toBeGreaterThanOrEqual(27)
  })

  it('are shorter where a check hashes much', async () => {
    expect(await turnsUntil(run(16, 131_072))).toBeGreaterThanOrEqual(7)
    expect(await turnsUntil(run(4, 10_000_000))).toBeGreaterThanOrEqual(3)
  })
})
