import type { JoinCertificate } from '@chancery/protocol'
import { ManualClock, accepted, enroll, nodeCaller, startTestAuthority, testSigner } from '@chancery/testkit'
import type { TestAuthority } from '@chancery/testkit'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createClient } from '../client.ts'
import { RequestError } from '../errors.ts'
import type { Refreshed } from './followed-party.ts'
import { RefreshingRelyingParty, type RefreshingRelyingPartyOptions } from './refreshing-relying-party.ts'

let clock: ManualClock
let na: TestAuthority
let certificate: JoinCertificate
let party: RefreshingRelyingParty | undefined
/** Every pause that the party began: its length, and what ends it. */
let pauses: { readonly ms: number; readonly end: () => void }[]
let results: Refreshed[]
let errors: unknown[]
let isReachable: boolean

beforeEach(async () => {
  clock = new ManualClock('2026-03-01T00:00:00Z')
  na = await startTestAuthority({ clock, backend: 'sqlite' })
  certificate = await enroll(
    na,
    nodeCaller(na.url, await testSigner('node', 'caller'), () => clock.now()),
  )
  ;[pauses, results, errors, isReachable] = [[], [], [], true]
})
afterEach(async () => {
  await party?.close()
  await na.stop()
})

async function open(more: Partial<RefreshingRelyingPartyOptions> = {}): Promise<RefreshingRelyingParty> {
  party = await RefreshingRelyingParty.open({
    url: na.url,
    genesis: na.genesis,
    clock: () => clock.now(),
    retry: false,
    fetch: (url, init) => (isReachable ? fetch(url, init) : Promise.reject(new Error('unplugged'))),
    onRefresh: (result) => results.push(result),
    onError: (error) => errors.push(error),
    random: () => 0.5,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        pauses.push({ ms, end: resolve })
        signal.addEventListener('abort', () => reject(signal.reason))
      }),
    ...more,
  })
  return party
}

/** Ends the current pause and waits until the party begins the next one. */
async function endPause(): Promise<number> {
  const count = pauses.length
  pauses.at(-1)?.end()
  await expect.poll(() => pauses.length).toBe(count + 1)
  return pauses.at(-1)?.ms ?? 0
}

const reasonsOf = async (): Promise<readonly string[]> => (await party?.evaluate(certificate))?.reasons ?? []

it('refuses a revoked certificate after its own refresh, without a call by the program', async () => {
  await open({ required_roles: ['role:client'] })
  expect(await reasonsOf()).toEqual([])
  expect(pauses.map(({ ms }) => ms)).toEqual([30_000])
  accepted(await na.as('privileged')('POST', '/admin/revoke', { cert_id: certificate.cert_id }))
  expect(await reasonsOf()).toEqual([])
  await endPause()
  expect(await reasonsOf()).toEqual(['Revoked { reason: "unspecified" }'])
  expect(results).toEqual([{ keys: 'unchanged', lists: { 'na-test': 'current' } }])
})

it('reports failures, retries them sooner, and goes back to its interval', async () => {
  await open({ refreshSeconds: 600 })
  isReachable = false
  expect([await endPause(), await endPause(), await endPause()]).toEqual([3750, 7500, 15_000])
  expect(errors).toHaveLength(3)
  expect(party?.state).toEqual({ refreshedAt: clock.now(), failures: 3, error: errors[2] })
  // The current list stays in use until it expires.
  expect(await reasonsOf()).toEqual([])
  isReachable = true
  clock.advance(60)
  expect(await endPause()).toBe(600_000)
  expect(party?.state).toEqual({ refreshedAt: clock.now(), failures: 0, error: undefined })
})

it('starts with stored lists while the authority is unreachable, and refreshes at once', async () => {
  const lists = [await createClient({ url: na.url }).crl.current()]
  isReachable = false
  await open({ lists })
  expect([await reasonsOf(), pauses.map(({ ms }) => ms)]).toEqual([[], [0]])
  expect(party?.state.refreshedAt).toBeUndefined()
})

it('shares one refresh between callers, and refuses a refresh after close', async () => {
  const opened = await open()
  const [one, two] = await Promise.all([opened.refresh(), opened.refresh()])
  expect(one).toBe(two)
  await opened.close()
  await expect(opened.refresh()).rejects.toThrow(RequestError)
  expect([await reasonsOf(), errors]).toEqual([[], []])
})

it('close ends a refresh that waits for the authority, without an error report', async () => {
  let isAsked = false
  await open({
    fetch: (url, init) => {
      if (results.length === 0 && pauses.length === 0) return fetch(url, init)
      isAsked = true
      return new Promise((_resolve, reject) => {
        if (init.signal?.aborted === true) reject(new Error('aborted'))
        init.signal?.addEventListener('abort', () => reject(new Error('aborted')))
      })
    },
  })
  pauses[0]?.end()
  await expect.poll(() => isAsked).toBe(true)
  await party?.close()
  expect(errors).toEqual([])
})

it('refuses an interval below one second, and one that is too long for a timer', async () => {
  await expect(open({ refreshSeconds: 3_000_000 })).rejects.toThrow(RequestError)
  await expect(open({ refreshSeconds: 0 })).rejects.toThrow(RequestError)
  await expect(open({ refreshSeconds: Number.NaN })).rejects.toThrow(RequestError)
})
