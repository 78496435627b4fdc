import { connect, createServer } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import {
  createPostgres,
  createTestNetwork,
  EndedAtStartError,
  startAuthorityProcess,
  startFaultProxy,
} from '@chancery/testkit'
import type { TestDatabase, TestNetwork } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const WRONG_SETTINGS = 78

/** As a server that starts: the first connections are cut. */
async function refuseFirst(count: number, { hostname, port }: URL): Promise<{ port: number; close: () => void }> {
  let refused = 0
  const server = createServer((client) => {
    client.on('error', () => undefined)
    refused += 1
    if (refused <= count) return void client.destroy()
    const upstream = connect(Number(port || 5432), hostname)
    upstream.on('error', () => undefined)
    client.pipe(upstream).pipe(client)
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const address = server.address()
  return { port: typeof address === 'object' ? (address?.port ?? 0) : 0, close: () => server.close() }
}

describe('the start of an authority whose PostgreSQL', () => {
  let network: TestNetwork
  let database: TestDatabase
  beforeAll(async () => {
    network = await createTestNetwork('START-NET')
    database = await createPostgres()
  }, 60_000)
  afterAll(async () => {
    await database.drop()
    await network.remove()
  })
  const urlOf = (): URL => new URL(database.settings['DATABASE_URL'] ?? '')
  const start = (settings: Readonly<Record<string, string>>) =>
    startAuthorityProcess({ network, settings: { NA_CLOCK_CHECK: 'off', ...settings } })
  const endingOf = async (settings: Readonly<Record<string, string>>): Promise<EndedAtStartError> => {
    const ended = await start(settings).catch((error: unknown) => error)
    if (!(ended instanceof EndedAtStartError)) throw new Error('the authority started', { cause: ended })
    return ended
  }

  it('is not there yet: it waits, says what it waits for and why, and then serves', async () => {
    const away = await refuseFirst(3, urlOf())
    const late = urlOf()
    late.host = `127.0.0.1:${away.port}`
    const authority = await start({ DATABASE_URL: late.href })
    try {
      const waits = authority.log.filter((line) => line.includes('waiting for the database'))
      expect(waits.length).toBeGreaterThan(0)
      expect(waits[0]).toMatch(/"cause":"[^"]*(?:ECONNRESET|Connection terminated)/)
      expect((await authority.request('GET', '/readyz')).status).toBe(200)
    } finally {
      await authority.stop()
    }
    expect(await authority.exited).toBe(0)
    away.close()
  }, 60_000)

  it('goes away for 15 s: the log says so in a few lines, without stacks, and each refused request has its own line', async () => {
    const url = urlOf()
    const proxy = await startFaultProxy({ host: url.hostname, port: Number(url.port || 5432) })
    url.host = `127.0.0.1:${proxy.port}`
    const authority = await start({ DATABASE_URL: url.href, LOG_LEVEL: 'info' })
    try {
      await pause(6000)
      const before = authority.log.length
      proxy.isolate(true)
      for (let second = 0; second < 15; second += 1) {
        expect((await authority.request('GET', '/readyz')).status).toBe(503)
        expect((await authority.request('POST', '/join', { body: {} })).status).toBe(503)
        await pause(1000)
      }
      const lines = authority.log.slice(before)
      const requests = lines.filter((line) => line.includes('"event":"request"'))
      expect(requests.length).toBe(15)
      expect(lines.filter((line) => line.includes('"stack"'))).toEqual([])
      expect(lines.some((line) => line.includes('"event":"not ready: database_unavailable'))).toBe(true)
      // Every job fails some times, and each of them said it.
      expect(lines.length - requests.length).toBeLessThan(15)
      expect(lines.length).toBeGreaterThan(requests.length)
    } finally {
      proxy.isolate(false)
      await authority.stop()
      await proxy.close()
    }
  }, 60_000)

  it('is there and has no such database: it ends at once, with the exit code for wrong settings', async () => {
    const none = urlOf()
    none.pathname = '/none'
    const { ending, message } = await endingOf({ DATABASE_URL: none.href })
    expect(ending).toBe(WRONG_SETTINGS)
    expect(message).toContain('DATABASE_URL: the database cannot be opened: ')
    expect(message).toContain('database "none" does not exist')
  }, 60_000)

  it.each([
    ['misspelt', { NA_HIGHWATER_FILES: 'x' }, 'NA_HIGHWATER_FILES: there is no such setting'],
    ['of another network', { GENESIS_FILE: '/nowhere' }, 'GENESIS_FILE: /nowhere cannot be read'],
  ])(
    'does not matter, because a setting is %s: the same exit code',
    async (_how, settings, text) => {
      const { ending, message } = await endingOf({ DATABASE_URL: urlOf().href, ...settings })
      expect([ending, message.includes(text)]).toEqual([WRONG_SETTINGS, true])
    },
    60_000,
  )
})
