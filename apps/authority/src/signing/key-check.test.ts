import { Refusal } from '@chancery/contract'
import { silentLog } from '@chancery/service-kit'
import { ManualClock, testSigner } from '@chancery/testkit'
import { describe, expect, it } from 'vitest'
import { createMetrics } from '../metrics.ts'
import { KeyCheck } from './key-check.ts'
import { LONG_BYTES } from './key-providers.ts'
import { TokenBusyError } from './vault-signer.ts'

async function watched(fail: (message: Uint8Array) => Error | undefined) {
  const clock = new ManualClock()
  const { signingUnavailable } = createMetrics([], clock)
  const check = new KeyCheck({ clock, log: silentLog, unavailable: signingUnavailable })
  const real = await testSigner('na', 'na')
  const sign = async (message: Uint8Array): Promise<Uint8Array> => {
    const failure = fail(message)
    if (failure !== undefined) throw failure
    return real.sign(message)
  }
  return { check, clock, signer: check.watch({ ...real, sign }) }
}

const short = new Uint8Array(100)
const long = new Uint8Array(LONG_BYTES + 1)

describe('the check of the key', () => {
  it.each([
    ['a longer message than the start has tried', long, new Error('CKR_DATA_LEN_RANGE')],
    ['more calls than sessions', short, new TokenBusyError('the token has no free session')],
  ])('refuses %s, and stops no other signatures', async (_cause, message, failure) => {
    const { check, signer } = await watched((given) => (given === message ? failure : undefined))
    await expect(signer.sign(message)).rejects.toThrow(Refusal)
    expect(check.isHalted()).toBe(false)
    expect(await signer.sign(new Uint8Array(1))).toHaveLength(64)
  })

  it('stops after another failure, and after a probe that fails, until a probe succeeds', async () => {
    let isAway = true
    const { check, clock, signer } = await watched(() => (isAway ? new Error('away') : undefined))
    await expect(signer.sign(long)).rejects.toThrow(Refusal)
    expect(check.isHalted()).toBe(false)
    clock.advance(10)
    await check.check()
    expect(check.isHalted()).toBe(true)
    isAway = false
    await check.check()
    expect(check.isHalted()).toBe(false)
    isAway = true
    await expect(signer.sign(short)).rejects.toThrow(Refusal)
    expect(check.isHalted()).toBe(true)
  })
})
