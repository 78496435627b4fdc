import { setTimeout as pause } from 'node:timers/promises'
import { ManualClock, accepted, createTestDatabase, startTestAuthority, startTemporaryRedis } from '@chancery/testkit'
import type { TestAuthority, TestDatabase, TemporaryRedis } from '@chancery/testkit'
import { createLog } from '@chancery/service-kit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { rowsOf } from '../testing/rows.suite.ts'

const LIMIT = 5

/** Protocol/core 21: redis falls back to the database limiter, and no caller is ever unlimited. */
describe('limits counted in Redis', () => {
  let redis: TemporaryRedis
  let na: TestAuthority
  let lines: string
  const log = createLog({ level: 'info', format: 'json', destination: { write: (line) => (lines += line) } })
  // The clock is stopped in the middle of a window, so no window ends while a test counts.
  const clock = new ManualClock()
  const settings = (): Record<string, string> => ({
    RATE_LIMIT_STORE: 'redis',
    REDIS_URL: redis.url,
    NA_RATE_LIMIT_VERIFY_PER_MINUTE: String(LIMIT),
    NA_CLOCK_CHECK: 'off',
  })
  const start = (database?: TestDatabase): Promise<TestAuthority> =>
    startTestAuthority({ clock, log, settings: settings(), ...(database === undefined ? {} : { database }) })
  const call = async (authority: TestAuthority): Promise<number> =>
    (await authority.request('POST', '/attestations/verify', { body: {} })).status
  const statuses = async (count: number, ...authorities: TestAuthority[]): Promise<number[]> => {
    const found: number[] = []
    for (let i = 0; i < count; i += 1) found.push(await call(authorities[i % authorities.length] ?? na))
    return found
  }
  const passed = (all: readonly number[]): number => all.filter((status) => status !== 429).length
  const limiterName = async (): Promise<unknown> => accepted(await na.request('GET', '/readyz'))['rate_limiter']
  const returned = async (): Promise<void> => {
    for (let i = 0; i < 100 && (await limiterName()) !== 'redis'; i += 1) {
      clock.advance(2)
      await call(na)
      await pause(50)
    }
  }

  beforeEach(async () => {
    lines = ''
    redis = await startTemporaryRedis()
  })
  afterEach(async () => {
    redis.thaw()
    await na.stop()
    await redis.stop()
  })

  it('allows exactly the limit, also for concurrent callers', async () => {
    na = await start()
    expect(await limiterName()).toBe('redis')
    const all = await Promise.all(Array.from({ length: 40 }, () => call(na)))
    expect(passed(all)).toBe(LIMIT)
    expect(all).not.toContain(503)
    expect(await na.core.database.read.selectFrom('rate_limit_windows').selectAll().execute()).toEqual([])
  })

  it('gives every key an expiry, in each window again', async () => {
    na = await start()
    expect(passed(await statuses(LIMIT + 2, na))).toBe(LIMIT)
    clock.advance(60)
    expect(passed(await statuses(LIMIT + 2, na))).toBe(LIMIT)
    const keys = (await redis.command('keys', '*')).split('\n')
    expect(keys).toHaveLength(2)
    for (const key of keys) {
      expect(key).toMatch(/^chancery:limit:[0-9a-f]{16}:\d+:POST \/attestations\/verify 127\.0\.0\.1$/)
      const seconds = Number(await redis.command('ttl', key))
      expect(seconds).toBeGreaterThan(60)
      expect(seconds).toBeLessThanOrEqual(120)
    }
  })

  it('is one limit for two instances', async () => {
    const database = await createTestDatabase()
    na = await start(database)
    const other = await start(database)
    expect(passed(await statuses(2 * LIMIT, na, other))).toBe(LIMIT)
    await other.stop()
    const { stop } = na
    na = { ...na, stop: () => stop().then(() => database.drop()) }
  })

  it('counts in the database when Redis is unavailable, logs it once, and returns to Redis', async () => {
    na = await start()
    await redis.stop()
    expect(passed(await statuses(LIMIT + 4, na))).toBe(LIMIT)
    expect(await limiterName()).toBe('database')
    expect(lines.split('rate limiter backend failed, counting in the database')).toHaveLength(2)
    expect((await na.request('GET', '/metrics')).text).toMatch(/^chancery_limiter_fallbacks_total [1-9]/m)
    await redis.start()
    clock.advance(60)
    await returned()
    expect(await limiterName()).toBe('redis')
    clock.advance(60)
    expect(passed(await statuses(LIMIT + 4, na))).toBe(LIMIT)
    expect(lines).toContain('rate limiter backend recovered')
  })

  it('does not wait for a hanging Redis: each call within its limit, the next ones immediately', async () => {
    na = await start()
    redis.freeze()
    const started = performance.now()
    const all = await statuses(LIMIT + 4, na)
    expect(passed(all)).toBe(LIMIT)
    expect(all).not.toContain(503)
    // One call may take its 100 ms. The others do not use Redis again within the second.
    expect(performance.now() - started).toBeLessThan(5000)
  })

  it('starts without Redis and counts in the database', async () => {
    await redis.stop()
    na = await start()
    expect(passed(await statuses(LIMIT + 4, na))).toBe(LIMIT)
  })

  it('loses with a flush no more than the current window', async () => {
    na = await start()
    expect(passed(await statuses(LIMIT + 1, na))).toBe(LIMIT)
    await redis.command('flushall')
    expect(passed(await statuses(LIMIT + 1, na))).toBe(LIMIT)
    expect(passed(await statuses(3, na))).toBe(0)
  })

  it('does not use a foreign value as a count', async () => {
    na = await start()
    await call(na)
    const [key = ''] = (await redis.command('keys', '*')).split('\n')
    await redis.command('set', key, 'not a number')
    expect(passed(await statuses(LIMIT + 4, na))).toBe(LIMIT)
  })

  it('refuses when neither can count', async () => {
    na = await start()
    await redis.stop()
    await rowsOf(na.core.database).schema.alterTable('rate_limit_windows').renameTo('away').execute()
    expect(await statuses(2, na)).toEqual([503, 503])
  })

  it('shows no password of the Redis URL anywhere', async () => {
    const canary = 'canary-redis-password'
    const url = redis.url.replace('redis://', `redis://user:${canary}@`)
    na = await startTestAuthority({ clock, log, settings: { ...settings(), REDIS_URL: url } })
    await statuses(2, na)
    expect((await na.request('GET', '/readyz')).text).not.toContain(canary)
    expect(lines).not.toContain(canary)
  })
})

it('a start with gathered heartbeats and limits in the database says that each heartbeat writes rows', async () => {
  for (const [mode, expected] of [
    ['gathered', true],
    ['strict', false],
  ] as const) {
    let lines = ''
    const log = createLog({ level: 'warn', format: 'json', destination: { write: (line) => (lines += line) } })
    const settings = { NA_HEARTBEAT_MODE: mode, RATE_LIMIT_STORE: 'database' }
    const na = await startTestAuthority({ log, settings })
    await na.stop()
    expect(lines.includes('each heartbeat writes rows of the limiter'), mode).toBe(expected)
  }
})
