import { seedSigner } from '@chancery/protocol'
import { afterEach, describe, expect, it } from 'vitest'
import { createAuthorityClient } from '../authority/client.ts'
import type { Client } from '../client.ts'
import type { ClientOptions } from './connection.ts'
import { ChanceryError } from '../errors.ts'
import { type Reply, type TestServer, listen, refusal } from './http-server.suite.ts'
import { NA_PUBLIC_KEY, OPERATOR_SEED } from '../testing/records.suite.ts'

const servers: TestServer[] = []
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()))
})

async function instance(reply: (count: number) => Reply): Promise<TestServer> {
  const server = await listen((_request, count) => reply(count))
  servers.push(server)
  return server
}

/** An address without a server. */
async function dead(): Promise<string> {
  const server = await listen(() => ({}))
  await server.close()
  return server.url
}

async function connect(url: readonly string[], options: Partial<ClientOptions> = {}): Promise<Client> {
  const operator = { signer: await seedSigner('ops', OPERATOR_SEED), audience: NA_PUBLIC_KEY }
  return createAuthorityClient({ url, operator, retry: { firstDelayMs: 1 }, ...options })
}

const alive: Reply = { json: { status: 'ok' } }
const made: Reply = { status: 201, json: { token_id: 't', expires_at: '2030-01-01T00:00:00Z' } }

describe('a read', () => {
  it.each([
    ['a broken connection', { destroy: true }],
    ['502 of a balancer', { status: 502, raw: '<html>' }],
    ['503', refusal(503, 'service_unavailable')],
    ['504 of a balancer', { status: 504, raw: '' }],
  ] satisfies [string, Reply][])(
    'moves to the next instance at once after %s, and stays there',
    async (_name, reply) => {
      const [first, second] = [await instance(() => reply), await instance(() => alive)]
      const delays: number[] = []
      const client = await connect([first.url, second.url], { retry: { onRetry: ({ waitMs }) => delays.push(waitMs) } })
      await client.health.healthz()
      await client.health.healthz()
      expect([first.received.length, second.received.length, delays]).toEqual([1, 2, []])
    },
  )

  it('skips instances without a server', async () => {
    const server = await instance(() => alive)
    const client = await connect([await dead(), await dead(), server.url])
    expect(await client.health.healthz()).toEqual({ status: 'ok' })
  })

  it('moves on when an instance does not answer in time', async () => {
    const [first, second] = [await instance(() => ({ hang: true })), await instance(() => alive)]
    const client = await connect([first.url, second.url], { timeoutMs: 50 })
    expect(await client.health.healthz()).toEqual({ status: 'ok' })
  })

  it('pauses only after every instance had its turn, and makes five attempts in all', async () => {
    const both = [
      await instance(() => refusal(503, 'service_unavailable')),
      await instance(() => refusal(503, 'service_unavailable')),
    ]
    const delays: number[] = []
    const client = await connect(
      both.map(({ url }) => url),
      { retry: { firstDelayMs: 1, onRetry: ({ attempt }) => delays.push(attempt) } },
    )
    await expect(client.health.healthz()).rejects.toMatchObject({ status: 503 })
    expect(both.map(({ received }) => received.length)).toEqual([3, 2])
    expect(delays).toEqual([2, 4])
  })
})

describe('a call that creates something', () => {
  it('moves only when the connection was never made', async () => {
    const server = await instance(() => made)
    const client = await connect([await dead(), server.url])
    expect(await client.enrollment.invite()).toMatchObject({ token_id: 't' })
  })

  it.each([
    ['a broken connection', { destroy: true }],
    ['502', { status: 502, raw: '' }],
    ['503 of unknown outcome', refusal(503, 'service_unavailable', { outcome: 'unknown' })],
  ] satisfies [string, Reply][])('is left alone after %s: it may have been done', async (_name, reply) => {
    const [first, second] = [await instance(() => reply), await instance(() => made)]
    const client = await connect([first.url, second.url])
    const error = await client.enrollment.invite().catch((found: unknown) => found)
    expect(error).toBeInstanceOf(ChanceryError)
    expect([first.received.length, second.received.length]).toEqual([1, 0])
  })

  it('signs again at the next instance', async () => {
    const second = await instance((count) => (count === 1 ? refusal(429, 'rate_limit_exceeded') : made))
    const client = await connect([await dead(), second.url])
    await client.enrollment.invite()
    expect(new Set(second.received.map(({ headers }) => headers['x-admin-nonce'])).size).toBe(2)
  })
})

describe('the time budget', () => {
  it('ends a call whose attempts take too long', async () => {
    const server = await instance(() => ({ hang: true }))
    const client = await connect([server.url, await dead()], { timeoutMs: 10_000 })
    const began = performance.now()
    await expect(client.health.healthz({ budgetMs: 80 })).rejects.toMatchObject({ systemCode: 'TIMEOUT' })
    expect(performance.now() - began).toBeLessThan(2000)
  })

  it('is not spent on a pause that would outlast it', async () => {
    const server = await instance(() => refusal(429, 'rate_limit_exceeded', {}, { 'Retry-After': '60' }))
    const client = await connect([server.url], { budgetMs: 1000 })
    await expect(client.health.healthz()).rejects.toMatchObject({ status: 429, retryAfterSeconds: 60 })
  })
})

it('returns the state of every instance', async () => {
  const [gone, refusing] = [await dead(), await instance(() => refusal(503, 'service_not_ready'))]
  const client = await connect([gone, refusing.url])
  expect(await client.health.endpoints()).toEqual([
    { url: gone, ready: false, problem: 'ECONNREFUSED' },
    { url: refusing.url, ready: false, problem: 'service_not_ready' },
  ])
})
