import { setTimeout as pause } from 'node:timers/promises'
import { createPostgres, send, startFaultProxy, startTestAuthority } from '@chancery/testkit'
import type { FaultProxy, TestAuthority, TestDatabase } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

/** The check of docs/operate/high-availability.md: `inter 200 fall 2`, without `timeout check`. */
const CHECK_MS = 200
const LIMIT = { timeout: 20_000, interval: 100 }

describe('a PostgreSQL whose answers take 200 ms', () => {
  let database: TestDatabase
  let proxy: FaultProxy
  const instances: TestAuthority[] = []
  beforeAll(async () => {
    database = await createPostgres()
    const url = new URL(database.settings['DATABASE_URL'] ?? '')
    proxy = await startFaultProxy({ host: url.hostname, port: Number(url.port || 5432) })
    url.host = `127.0.0.1:${proxy.port}`
    const behind = { settings: { DATABASE_URL: url.href }, drop: async () => undefined }
    const settings = { NA_HA_MODE: 'on', RATE_LIMIT_STORE: 'database', NA_DRAIN_SECONDS: '0' }
    for (let count = 0; count < 2; count += 1) instances.push(await startTestAuthority({ database: behind, settings }))
  }, 60_000)
  afterAll(async () => {
    proxy.delayMs = 0
    await Promise.all(instances.map((instance) => instance.stop()))
    await proxy.close()
    await database.drop()
  }, 60_000)

  it('leaves every instance in the balancer, and is reported as slow', async () => {
    for (const { url } of instances) expect((await send(url, 'GET', '/readyz')).status).toBe(200)
    proxy.delayMs = 100
    for (const { refused, quick } of await Promise.all(instances.map(({ url }) => poll(url, 35_000)))) {
      expect(refused).toBe(0)
      // On a machine under load single answers take longer.
      expect(quick).toBeGreaterThan(0.5)
    }
    const [first] = instances
    if (first === undefined) throw new Error('no instance')
    await expect
      .poll(async () => (await first.as('standard')('GET', '/admin/findings')).json, LIMIT)
      .toMatchObject({
        findings: expect.arrayContaining([expect.objectContaining({ check: 'database-speed', status: 'warn' })]),
      })
    const metrics = (await send(first.url, 'GET', '/metrics')).text
    expect(Number(/^chancery_database_read_seconds (\S+)$/m.exec(metrics)?.[1])).toBeGreaterThan(0.19)
    expect(metrics).toMatch(/^chancery_database_connections\{state="most"\} 26$/m)
    expect(metrics).toMatch(/^chancery_database_waiting \d+$/m)
  }, 90_000)

  it('that stops answering is reported within seconds', async () => {
    proxy.delayMs = 0
    for (const { url } of instances)
      await expect.poll(async () => (await send(url, 'GET', '/readyz')).status, LIMIT).toBe(200)
    proxy.stall(true)
    try {
      const started = performance.now()
      for (const { url } of instances)
        await expect
          .poll(async () => (await send(url, 'GET', '/readyz')).status, { ...LIMIT, interval: CHECK_MS })
          .toBe(503)
      expect(performance.now() - started).toBeLessThan(10_000)
    } finally {
      proxy.stall(false)
    }
  }, 60_000)
})

/** Asks as HAProxy does. Returns how many answers were refusals, and which part came in time. */
async function poll(url: string, forMs: number): Promise<{ readonly refused: number; readonly quick: number }> {
  const until = performance.now() + forMs
  let [asked, refused, quick] = [0, 0, 0]
  while (performance.now() < until) {
    const started = performance.now()
    const { status } = await send(url, 'GET', '/readyz')
    asked += 1
    if (status !== 200) refused += 1
    if (performance.now() - started < CHECK_MS) quick += 1
    await pause(Math.max(0, CHECK_MS - (performance.now() - started)))
  }
  return { refused, quick: quick / asked }
}
