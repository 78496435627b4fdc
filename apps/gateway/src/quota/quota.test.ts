import { randomUUID } from 'node:crypto'
import { seconds } from '@chancery/protocol'
import { createLog, silentLog, systemClock } from '@chancery/service-kit'
import { ManualClock, startTemporaryRedis } from '@chancery/testkit'
import { Redis } from 'ioredis'
import { afterAll, describe, expect, it } from 'vitest'
import { LocalQuota } from './local-quota.ts'
import { PROOF_MS, type Quota, type QuotaClaim, QuotaUnavailableError } from './quota.ts'
import { RedisQuota, type RedisQuotaOptions, quotaKey } from './redis-quota.ts'

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

function shared(over: Partial<RedisQuotaOptions> = {}): RedisQuota {
  const options = { url: URL, namespace, extraRoots: [], takesAhead: false, clock: systemClock, log: silentLog }
  const quota = new RedisQuota({ ...options, ...over })
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

describe('local proofs', () => {
  it('replays use up no quota, and a refused claim spends no proof', async () => {
    const clock = new ManualClock()
    const quota = new LocalQuota(clock)
    clock.advance(1)
    const proof = (name: string) => ({ name, created: clock.now() })
    expect(await quota.spend(proof('a'), claim('n', 2))).toBeUndefined()
    for (let n = 0; n < 5; n += 1) expect(await quota.spend(proof('a'), claim('n', 2))).toBe('replayed')
    expect(await quota.spend(proof('b'), claim('n', 2))).toBeUndefined()
    expect(await quota.spend(proof('c'), claim('n', 2))).toEqual({ retryAfterMs: 60_000 })
    expect(await quota.spend(proof('c'), claim('other', 2))).toBeUndefined()
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
    const quota = shared({ url: 'redis://127.0.0.1:1' })
    await expect(quota.claim(claim('a', 5))).rejects.toBeInstanceOf(QuotaUnavailableError)
    expect(await quota.probe()).toBe(false)
  })

  const proofOf = (created = systemClock.now() + seconds(1)) => ({ name: `key ${randomUUID()}`, created })
  const many = (): QuotaClaim => claim(`node ${randomUUID()}`, 1000)

  it('two replicas take a proof once, also at the same moment, and the name expires after the proof', async () => {
    const [one, two] = [shared(), shared()]
    await Promise.all([untilReady(one), untilReady(two)])
    const proof = proofOf()
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, at) => (at % 2 === 0 ? one : two).spend(proof, many())),
    )
    expect(answers.filter((answer) => answer === undefined)).toHaveLength(1)
    expect(await two.spend(proof, many())).toBe('replayed')
    expect(await two.spend(proofOf(), many())).toBeUndefined()
    const left = await redis.pttl(quotaKey([namespace, proof.name, 'proof']))
    // A proof is accepted for 90 s at most.
    expect(left).toBeGreaterThan(90_000)
    expect(left).toBeLessThanOrEqual(PROOF_MS)
  })

  it('replays use up no quota, and a refused claim spends no proof', async () => {
    const quota = shared()
    await untilReady(quota)
    const two = claim(`node ${randomUUID()}`, 2)
    const captured = proofOf()
    expect(await quota.spend(captured, two)).toBeUndefined()
    for (let n = 0; n < 5; n += 1) expect(await quota.spend(captured, two)).toBe('replayed')
    expect(await quota.spend(proofOf(), two)).toBeUndefined()
    const refused = proofOf()
    expect(await quota.spend(refused, two)).toEqual({ retryAfterMs: expect.any(Number) })
    expect(await quota.spend(refused, many())).toBeUndefined()
  })

  it('keeps proofs apart from the quotas of a client with the same name', async () => {
    const quota = shared()
    await untilReady(quota)
    const proof = proofOf()
    expect(await quota.claim(claim(proof.name, 1))).toBeUndefined()
    expect(await quota.claim(claim(proof.name, 1, 1, 'decisions'))).toBeUndefined()
    expect(await quota.spend(proof, many())).toBeUndefined()
  })

  it('rejects a proof when the backend does not answer', async () => {
    const quota = shared({ url: 'redis://127.0.0.1:1' })
    await expect(quota.spend(proofOf(), many())).rejects.toBeInstanceOf(QuotaUnavailableError)
  })

  describe('a server that lost the proofs', () => {
    const own = { namespace: `test-${randomUUID()}`, clock: new ManualClock('2026-01-02T03:04:05Z') }
    const now = (): bigint => own.clock.now()
    const lose = async (...proofs: readonly { name: string }[]): Promise<void> => {
      await redis.del(quotaKey([own.namespace, 'epoch', 'proofs']))
      for (const { name } of proofs) await redis.del(quotaKey([own.namespace, name, 'proof']))
    }

    it('takes no proof that may be spent, and takes proofs again 30 s later', async () => {
      const quota = shared(own)
      await untilReady(quota)
      // The first use of a namespace: proofs of before the start may be spent.
      expect(await quota.spend(proofOf(now()), many())).toBe('replayed')
      const captured = proofOf(now() + seconds(28))
      expect(await quota.spend(captured, many())).toBeUndefined()
      await lose(captured)
      expect(await quota.spend(captured, many())).toBe('replayed')
      own.clock.advance(31)
      expect(await quota.spend(proofOf(now()), many())).toBeUndefined()
    })

    it('is detected by a process that has spent nothing yet', async () => {
      const idle = shared(own)
      await untilReady(idle)
      own.clock.advance(60)
      const between = proofOf(now())
      await lose()
      expect(await idle.spend(between, many())).toBe('replayed')
      own.clock.advance(31)
    })

    it('is detected by a process that comes late: it raises the floor once', async () => {
      const one = shared(own)
      await untilReady(one)
      own.clock.advance(60)
      const captured = proofOf(now() + seconds(28))
      expect(await one.spend(captured, many())).toBeUndefined()
      await lose(captured)
      // A process that starts after the loss sets its own start as the floor.
      const two = shared(own)
      await untilReady(two)
      expect(await two.spend(proofOf(now()), many())).toBe('replayed')
      expect(await one.spend(captured, many())).toBe('replayed')
      expect(await two.spend(captured, many())).toBe('replayed')
      own.clock.advance(31)
      expect(await two.spend(proofOf(now()), many())).toBeUndefined()
      expect(await one.spend(proofOf(now()), many())).toBeUndefined()
    })

    it.each(['without persistence', 'from a snapshot of before'])('is detected after a restart %s', async (how) => {
      const server = await startTemporaryRedis()
      try {
        const one = shared({ ...own, url: server.url })
        await untilReady(one)
        own.clock.advance(1)
        const captured = proofOf(now() + seconds(28))
        expect(await one.spend(captured, many())).toBeUndefined()
        const key = quotaKey([own.namespace, 'epoch', 'proofs'])
        const stored = (await server.command('hgetall', key)).split('\n')
        await server.stop()
        await server.start()
        if (how !== 'without persistence') await server.command('hset', key, ...stored)
        const two = shared({ ...own, url: server.url })
        for (const quota of [one, two]) await untilReady(quota)
        for (const quota of [one, two]) expect(await quota.spend(captured, many())).toBe('replayed')
        own.clock.advance(31)
        expect(await two.spend(proofOf(now()), many())).toBeUndefined()
        expect(await one.spend(proofOf(now()), many())).toBeUndefined()
      } finally {
        await server.stop()
      }
    })

    it('is closed for 30 s at a first start, when proofs dated ahead are taken', async () => {
      await lose()
      const quota = shared({ ...own, takesAhead: true })
      await untilReady(quota)
      expect(await quota.spend(proofOf(now() + seconds(30)), many())).toBe('replayed')
      own.clock.advance(31)
      expect(await quota.spend(proofOf(now()), many())).toBeUndefined()
    })
  })
})

it('the log names the reason when Redis fails', async () => {
  const lines: string[] = []
  const log = createLog({ level: 'info', format: 'json', destination: { write: (line) => void lines.push(line) } })
  const options = { namespace: randomUUID(), extraRoots: [], takesAhead: false, clock: systemClock }
  const quota = new RedisQuota({ ...options, url: 'redis://127.0.0.1:1', log })
  try {
    await expect.poll(() => lines.length, { timeout: 10_000 }).toBeGreaterThan(0)
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ reason: expect.stringContaining('ECONNREFUSED 127.0.0.1:1') })
  } finally {
    await quota.close()
  }
})
