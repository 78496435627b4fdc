import { GATEWAY_CALLER_HEADER, signGatewayCaller, writeInstant } from '@chancery/protocol'
import { ManualClock, type TestAuthority, startTestAuthority, testSigner } from '@chancery/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

// Holds: limits count the caller that a trusted gateway names for this request, and otherwise the address.

const clock = new ManualClock('2026-01-02T03:04:05Z')
const gateway = await testSigner('gateway', 'gateway')
let na: TestAuthority
beforeEach(async () => {
  const settings = {
    NA_CLOCK_CHECK: 'off',
    NA_RATE_LIMIT_PUBLIC_PER_MINUTE: '2',
    NA_TRUSTED_GATEWAY_KEYS: gateway.publicKey,
  }
  na = await startTestAuthority({ clock, settings })
})
afterEach(() => na.stop())

const TARGET = '/policy'
const sign = (name: string, changes: object = {}, signer = gateway): Promise<string> => {
  const audience = na.genesis.network_authority.public_key
  const request = { name, audience, created: writeInstant(clock.now()), method: 'GET', target: TARGET, ...changes }
  return signGatewayCaller(request, signer)
}
const get = async (value?: string | readonly string[]): Promise<boolean> => {
  const headers = value === undefined ? {} : { [GATEWAY_CALLER_HEADER]: value }
  return (await na.request('GET', TARGET, { headers })).status !== 429
}

describe('a caller that a trusted gateway names', () => {
  it('has its own limit, and takes nothing of others', async () => {
    expect([await get(await sign('a')), await get(await sign('a')), await get(await sign('a'))]).toEqual([
      true,
      true,
      false,
    ])
    expect([await get(await sign('b')), await get()]).toEqual([true, true])
  })

  it.each<[string, () => Promise<string | readonly string[]>]>([
    ['by another key', async () => sign('a', {}, await testSigner('other', 'other'))],
    ['for another method', () => sign('a', { method: 'POST' })],
    ['for another target', () => sign('a', { target: '/crl' })],
    ['for another authority', () => sign('a', { audience: gateway.publicKey })],
    ['too long ago', () => sign('a', { created: writeInstant(clock.now() - 61_000_000n) })],
    ['ahead of the clock', () => sign('a', { created: writeInstant(clock.now() + 61_000_000n) })],
    ['twice', async () => [await sign('a'), await sign('b')]],
    ['in another form', async () => `${await sign('a')} x`],
  ])('counts as the address when it is named %s', async (_name, value) => {
    expect([await get(), await get()]).toEqual([true, true])
    expect(await get(await value())).toBe(false)
  })

  it('is no longer read from an address after ten signatures that do not verify', async () => {
    const good = await sign('a')
    for (let n = 0; n < 10; n += 1) await get(await sign('x', { target: '/crl' }))
    expect(await get(good)).toBe(false)
  })
})
