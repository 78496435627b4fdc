import type { JoinCertificate } from '@chancery/protocol'
import { ManualClock, accepted, enroll, nodeCaller, startTestAuthority, testSigner } from '@chancery/testkit'
import type { TestAuthority } from '@chancery/testkit'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { UnreachableError, UsageError } from '../errors.ts'
import { MemoryNodeStore } from '../node/followed.ts'
import {
  type NetworksTrust,
  type TrustOptions,
  type TrustParts,
  type TrustedNetwork,
  openTrust,
} from './trust-networks.ts'

let clock: ManualClock
let na: TestAuthority
let certificate: JoinCertificate
let party: NetworksTrust | undefined
/** Every pause that the party began: its length, and what ends it. */
let pauses: { readonly ms: number; readonly end: () => void }[]
let errors: unknown[]
let isReachable: boolean

beforeEach(async () => {
  clock = new ManualClock('2026-03-01T00:00:00Z')
  na = await startTestAuthority({ clock, backend: 'sqlite' })
  certificate = await enroll(
    na,
    nodeCaller(na.url, await testSigner('node', 'caller'), () => clock.now()),
  )
  ;[pauses, errors, isReachable] = [[], [], true]
})
afterEach(async () => {
  await party?.close()
  await na.stop()
})

type More = Partial<TrustedNetwork> & TrustOptions & TrustParts

async function open({ refreshSeconds, ...more }: More = {}): Promise<NetworksTrust> {
  const network = {
    url: na.url,
    genesis: na.genesis,
    clock: () => clock.now(),
    retry: false as const,
    fetch: (url: string, init: RequestInit) =>
      isReachable ? fetch(url, init) : Promise.reject(new Error('unplugged')),
    ...more,
  }
  party = await openTrust([network], {
    ...(refreshSeconds === undefined ? {} : { refreshSeconds }),
    onError: (error) => errors.push(error),
    random: () => 0.5,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        pauses.push({ ms, end: resolve })
        signal.addEventListener('abort', () => reject(signal.reason))
      }),
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

const reasonsOf = async (presented = certificate): Promise<readonly string[]> => {
  const verdict = await party?.evaluate(presented)
  return verdict?.trusted === false ? verdict.reasons : []
}

it('refuses a revoked certificate after its own refresh, without a call by the program', async () => {
  await open({ roles: ['role:client', 'role:other'] })
  expect(await reasonsOf()).toEqual([])
  expect(pauses.map(({ ms }) => ms)).toEqual([30_000])
  accepted(await na.as('privileged')('POST', '/admin/revoke', { cert_id: certificate.cert_id }))
  expect(await reasonsOf()).toEqual([])
  await endPause()
  expect(await reasonsOf()).toEqual(['revoked'])
})

it('reports failures, retries them sooner, and goes back to its interval', async () => {
  await open({ refreshSeconds: 600 })
  isReachable = false
  expect([await endPause(), await endPause(), await endPause()]).toEqual([3750, 7500, 15_000])
  expect(errors).toHaveLength(3)
  const at = new Date('2026-03-01T00:00:00Z')
  expect(party?.networks[0]).toMatchObject({
    name: na.genesis.network_name,
    refreshedAt: at,
    failures: 3,
    error: errors[2],
  })
  // The current list stays in use until it expires.
  expect(await reasonsOf()).toEqual([])
  isReachable = true
  clock.advance(60)
  expect(await endPause()).toBe(600_000)
  expect(party?.networks[0]).toMatchObject({ failures: 0, error: undefined })
})

it('starts with the list of an earlier run while the authority is unreachable, and refreshes at once', async () => {
  const store = new MemoryNodeStore()
  await (await open({ store })).close()
  isReachable = false
  pauses = []
  await open({ store })
  expect([await reasonsOf(), pauses.map(({ ms }) => ms)]).toEqual([[], [0]])
  expect(party?.networks[0]?.refreshedAt).toBeUndefined()
  await party?.close()
  await expect(open()).rejects.toThrow(UnreachableError)
})

it('refuses a certificate of a third network, and one that was changed', async () => {
  await open()
  const other = { ...certificate, network_name: 'OTHER-NET' }
  const refused = { trusted: false, network: 'OTHER-NET', reasons: ['unknown_network'], cause: 'refuse' }
  expect(await party?.evaluate(other)).toEqual(refused)
  expect(await reasonsOf({ ...certificate, expires_at: '2099-01-01T00:00:00Z' })).toContain('bad_signature')
})

it('says that an expired list is no fault of the certificate', async () => {
  await open()
  isReachable = false
  const { listExpiresAt } = party?.networks[0] ?? {}
  const end = new Date((listExpiresAt?.getTime() ?? 0) + 60_000)
  expect(end.getTime()).toBeLessThan(Date.parse(certificate.expires_at))
  expect(await party?.evaluate(certificate, end)).toMatchObject({ trusted: false, cause: 'unavailable' })
})

it('needs a role that a certificate has, and no two networks of one name', async () => {
  await open({ roles: ['role:admin'] })
  expect(await reasonsOf()).toEqual(['missing_role'])
  const network = { url: na.url, genesis: JSON.stringify(na.genesis) }
  await expect(openTrust([network, network], {})).rejects.toThrow('two networks have the name')
  await expect(openTrust([], {})).rejects.toThrow(UsageError)
})

it('refuses a refresh after close, and verifies on', async () => {
  const opened = await open()
  await Promise.all([opened.refresh(), opened.refresh()])
  await opened.close()
  await expect(opened.refresh()).rejects.toThrow(UsageError)
  expect([await reasonsOf(), errors]).toEqual([[], []])
})

it('close ends a refresh that waits for the authority, without an error report', async () => {
  let isAsked = false
  await open({
    fetch: (url: string, init: RequestInit) => {
      if (pauses.length === 0) return fetch(url, init)
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
  await expect(open({ refreshSeconds: 3_000_000 })).rejects.toThrow(UsageError)
  await expect(open({ refreshSeconds: 0 })).rejects.toThrow(UsageError)
  await expect(open({ refreshSeconds: Number.NaN })).rejects.toThrow(UsageError)
})
