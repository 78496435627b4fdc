import { randomUUID } from 'node:crypto'
import { silentLog } from '@chancery/service-kit'
import { ManualClock } from '@chancery/testkit'
import { Redis } from 'ioredis'
import { afterAll, describe, expect, it } from 'vitest'
import { LocalQuota } from './local-quota.ts'
import { PROOF_MS, QuotaUnavailableError } from './quota.ts'
import type { Quota, QuotaClaim } from './quota.ts'
import { RedisQuota, quotaKey } from './redis-quota.ts'

const URL = 'redis://127.0.0.1:6379'
const namespace = `test-${randomUUID()}`
const redis = new Redis(URL)
const opened: Quota[] = []
afterAll(async () => {
  for (const quota of opened) await quota.close()
  redis.disconnect()
})

function claim(clientId: string, limit: number, cost = 1, kind: QuotaClaim['kind'] = 'requests'): QuotaClaim {
  return { clientId, kind, limit, cost }
}

function shared(): RedisQuota {
  const quota = new RedisQuota({ url: URL, namespace, extraRoots: [], log: silentLog })
  opened.push(quota)
  return quota
}

async function untilReady(quota: Quota): Promise<void> {
  while (!(await quota.probe())) await new Promise((done) => setTimeout(done, 20))
}

describe('local quota', () => {
  it('grants the limit and no more; the window starts with the first request and ends after 60 s', () => {
    const clock = new ManualClock()
    const quota = new LocalQuota(clock)
    expect(quota.claim(claim('a', 2))).toBeUndefined()
    clock.advance(40)
    expect(quota.claim(claim('a', 2))).toBeUndefined()
    expect(quota.claim(claim('a', 2))).toEqual({ retryAfterMs: 20_000 })
    clock.advance(19.999)
    expect(quota.claim(claim('a', 2))).toEqual({ retryAfterMs: expect.closeTo(1, 3) as number })
    clock.advance(0.001)
    expect(quota.claim(claim('a', 2))).toBeUndefined()
  })

  it('counts clients and kinds separately, and refused claims not at all', () => {
    const quota = new LocalQuota(new ManualClock())
    expect(quota.claim(claim('a', 5, 4, 'certificates'))).toBeUndefined()
    expect(quota.claim(claim('a', 5, 2, 'certificates'))).toBeDefined()
    expect(quota.claim(claim('a', 5, 1, 'certificates'))).toBeUndefined()
    expect(quota.claim(claim('a', 1))).toBeUndefined()
    expect(quota.claim(claim('b', 1))).toBeUndefined()
  })
})

describe('shared quota', () => {
  it('has the published key', () => {
    // protocol/gateway A.4
    expect(quotaKey(['prod', 'svc-a'])).toBe(
      'gateway:quota:c60cf967cd21a6d199c64e3a43123e3888c9e628ab9c8ff14d8be8a2a23eec37',
    )
  })

  it('two replicas together grant exactly the limit, and the counter expires', async () => {
    const [one, two] = [shared(), shared()]
    await Promise.all([untilReady(one), untilReady(two)])
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, n) => (n % 2 === 0 ? one : two).claim(claim('ten', 10))),
    )
    expect(answers.filter((answer) => answer === undefined)).toHaveLength(10)
    const key = quotaKey([namespace, 'ten'])
    expect(await redis.get(key)).toBe('10')
    const left = await redis.pttl(key)
    expect(left).toBeGreaterThan(0)
    expect(left).toBeLessThanOrEqual(60_000)
    const refused = answers.find((answer) => answer !== undefined)
    expect(refused?.retryAfterMs).toBeLessThanOrEqual(60_000)
  })

  it('sets the expiry of a counter that lacks one', async () => {
    const quota = shared()
    await untilReady(quota)
    await redis.set(quotaKey([namespace, 'endless']), '1')
    expect(await quota.claim(claim('endless', 5))).toBeUndefined()
    expect(await redis.pttl(quotaKey([namespace, 'endless']))).toBeGreaterThan(0)
  })

  it('rejects when the backend does not count, and never counts locally', async () => {
    const quota = new RedisQuota({ url: 'redis://127.0.0.1:1', namespace, extraRoots: [], log: silentLog })
    opened.push(quota)
    await expect(quota.claim(claim('a', 5))).rejects.toBeInstanceOf(QuotaUnavailableError)
    expect(await quota.probe()).toBe(false)
  })

  it('two replicas take a proof once, also at the same moment, and the name expires after the proof', async () => {
    const [one, two] = [shared(), shared()]
    await Promise.all([untilReady(one), untilReady(two)])
    const created = 0n
    const name = `key ${randomUUID()}`
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, at) => (at % 2 === 0 ? one : two).spend({ name, created })),
    )
    expect(answers.filter(Boolean)).toHaveLength(1)
    expect(await two.spend({ name, created })).toBe(false)
    expect(await two.spend({ name: `key ${randomUUID()}`, created })).toBe(true)
    const left = await redis.pttl(quotaKey([namespace, name, 'proof']))
    // A proof is accepted for 90 s at most.
    expect(left).toBeGreaterThan(90_000)
    expect(left).toBeLessThanOrEqual(PROOF_MS)
  })

  it('keeps proofs apart from the quotas of a client with the same name', async () => {
    const quota = shared()
    await untilReady(quota)
    const name = `key ${randomUUID()}`
    expect(await quota.claim(claim(name, 1))).toBeUndefined()
    expect(await quota.claim(claim(name, 1, 1, 'decisions'))).toBeUndefined()
    expect(await quota.spend({ name, created: 0n })).toBe(true)
  })

  it('rejects a proof when the backend does not answer', async () => {
    const quota = new RedisQuota({ url: 'redis://127.0.0.1:1', namespace, extraRoots: [], log: silentLog })
    opened.push(quota)
    await expect(quota.spend({ name: 'key nonce', created: 0n })).rejects.toBeInstanceOf(QuotaUnavailableError)
  })
})
