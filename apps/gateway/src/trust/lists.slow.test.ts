import { type Server, type ServerResponse, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type JsonObject, type RevocationList, seconds, writeJson } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import {
  startTestGateway,
  testCertificate,
  testClient,
  testIssuer,
  testList,
  testNetwork,
  testPolicy,
} from '@chancery/testkit'
import type { TestEntry, TestGateway } from '@chancery/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

const by = await testIssuer('agency')
const caller = testClient('caller', ['agency'])
const watcher = testClient('watcher', [], { metrics: true })
let server: Server
let url: string
let reply: (response: ServerResponse) => void
const running: TestGateway[] = []

beforeEach(async () => {
  reply = (response) => response.writeHead(503).end()
  server = createServer((_request, response) => reply(response))
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/crl`
})
afterEach(async () => {
  for (const gateway of running.splice(0)) await gateway.stop()
  server.closeAllConnections()
  await new Promise((done) => server.close(done))
})

const list = (sequence: number, ...ids: string[]): Promise<RevocationList> =>
  testList(by, systemClock.now(), {
    sequence,
    // Lists with a higher sequence have a later time.
    issuedAgo: seconds(600 - 10 * sequence),
    entries: ids.map((certificate_id): TestEntry => ({ certificate_id })),
  })

function policy(bootstrap: RevocationList, over: JsonObject = {}, revision = 'test-1'): JsonObject {
  const network = testNetwork(by, bootstrap, { crl_url: url, allow_http: true, refresh_seconds: 3600, ...over })
  return testPolicy({ agency: network }, [caller, watcher], revision)
}

async function start(given: JsonObject, options: { state?: 'new' | 'kept'; home?: string } = {}): Promise<TestGateway> {
  const gateway = await startTestGateway({ policy: given, ...options })
  running.push(gateway)
  return gateway
}

async function stopKeepAlive(gateway: TestGateway): Promise<string> {
  running.splice(running.indexOf(gateway), 1)
  await gateway.stop('keep')
  return gateway.home
}

interface Shown {
  readonly suspect: boolean
  readonly revocation: { readonly sequence: number }
  readonly last_refresh: { readonly outcome: string } | null
}

async function shown(gateway: TestGateway): Promise<Shown> {
  const { body } = await gateway.request('GET', '/v1/networks', { token: caller.token })
  const [network] = body['networks'] as unknown as Shown[]
  if (network === undefined) throw new Error('no network')
  return network
}

async function untilRefreshed(gateway: TestGateway): Promise<string> {
  for (;;) {
    const { last_refresh } = await shown(gateway)
    if (last_refresh !== null) return last_refresh.outcome
    await new Promise((done) => setTimeout(done, 20))
  }
}

async function reasonsFor(gateway: TestGateway, cert_id: string): Promise<unknown> {
  const certificate = await testCertificate(by, systemClock.now(), { cert_id })
  return (await gateway.request('POST', '/verify', { token: caller.token, body: { certificate } })).body['reasons']
}

const REVOKED = ['Revoked { reason: "key_compromise" }']

describe('refresh', () => {
  it('installs a newer list', async () => {
    const newer = writeJson(await list(10, 'gone'))
    reply = (response) => response.writeHead(200).end(newer)
    const gateway = await start(policy(await list(9)))
    expect(await untilRefreshed(gateway)).toBe('installed')
    expect(await reasonsFor(gateway, 'gone')).toEqual(REVOKED)
  })

  const hostile: readonly (readonly [string, string, (newer: RevocationList, response: ServerResponse) => void])[] = [
    ['an error', 'unreachable', (newer, response) => response.writeHead(500).end(writeJson(newer))],
    ['another success', 'unreachable', (newer, response) => response.writeHead(203).end(writeJson(newer))],
    ['a redirect', 'unreachable', (_newer, response) => response.writeHead(302, { location: url }).end()],
    ['nothing new', 'unreachable', (_newer, response) => response.writeHead(304).end()],
    ['a cut response', 'unreachable', (_newer, response) => response.destroy()],
    ['too much', 'too_large', (_newer, response) => response.writeHead(200, { 'content-length': '67108865' }).end()],
    [
      'too much space',
      'malformed',
      (newer, response) => response.writeHead(200).end(writeJson(newer) + ' '.repeat(70_000)),
    ],
    ['HTML', 'malformed', (_newer, response) => response.writeHead(200).end('<html></html>')],
    ['half a list', 'malformed', (newer, response) => response.writeHead(200).end(writeJson(newer).slice(0, -2))],
    [
      'a repeated member',
      'malformed',
      (newer, response) => response.writeHead(200).end(writeJson(newer).replace('{', '{"sequence":10,')),
    ],
    ['an unknown member', 'malformed', (newer, response) => response.writeHead(200).end(writeJson({ ...newer, x: 1 }))],
    [
      'a float sequence',
      'malformed',
      (newer, response) => response.writeHead(200).end(writeJson(newer).replace('"sequence":10', '"sequence":10.0')),
    ],
    [
      'a changed list',
      'unauthentic',
      (newer, response) => response.writeHead(200).end(writeJson({ ...newer, sequence: 11 })),
    ],
  ]
  it.each(hostile)('%s keeps the current list (%s)', async (_name, outcome, respond) => {
    const newer = await list(10, 'fresh')
    reply = (response) => respond(newer, response)
    const gateway = await start(policy(await list(9, 'held')))
    expect(await untilRefreshed(gateway)).toBe(outcome)
    expect((await shown(gateway)).revocation.sequence).toBe(9)
    expect(await reasonsFor(gateway, 'held')).toEqual(REVOKED)
    expect(await reasonsFor(gateway, 'fresh')).toEqual([])
  })

  it(
    'two lists with one sequence: the first stays in force and the issuer is suspect, also after a restart',
    { timeout: 60_000 },
    async () => {
      const held = await list(9, 'held')
      const other = writeJson(await list(9, 'other'))
      reply = (response) => response.writeHead(200).end(other)
      const gateway = await start(policy(held), { state: 'new' })
      expect(await untilRefreshed(gateway)).toBe('equivocation')
      expect((await shown(gateway)).suspect).toBe(true)
      expect(await reasonsFor(gateway, 'held')).toEqual(REVOKED)
      const home = await stopKeepAlive(gateway)
      reply = (response) => response.writeHead(503).end()
      const again = await start(policy(held), { state: 'kept', home })
      expect((await shown(again)).suspect).toBe(true)
      const { text } = await again.request('GET', '/metrics', { token: watcher.token })
      expect(text).toMatch(/^gateway_crl_suspect\{[^}]+\} 1$/m)
    },
  )
})

describe('durable state', () => {
  it('a restart with an old policy file keeps the higher list, its revocations and the withdrawn ones', async () => {
    const old = await list(9, 'once')
    const newer = writeJson(await list(12, 'gone'))
    reply = (response) => response.writeHead(200).end(newer)
    const gateway = await start(policy(old), { state: 'new' })
    expect(await untilRefreshed(gateway)).toBe('installed')
    const home = await stopKeepAlive(gateway)
    reply = (response) => response.writeHead(503).end()
    const again = await start(policy(old), { state: 'kept', home })
    expect((await shown(again)).revocation.sequence).toBe(12)
    expect(await reasonsFor(again, 'gone')).toEqual(REVOKED)
    expect(await reasonsFor(again, 'once')).toEqual(REVOKED)
    expect(await reasonsFor(again, 'other')).toEqual([])
  })

  it('a policy that contradicts the state does not start', async () => {
    const home = await stopKeepAlive(await start(policy(await list(9)), { state: 'new' }))
    await expect(start(policy(await list(9, 'other')), { state: 'kept', home })).rejects.toThrow('contradicts')
    running.push(await startTestGateway({ policy: policy(await list(9)), state: 'kept', home }))
  })

  it('a second owner is refused', async () => {
    const gateway = await start(policy(await list(9)), { state: 'new' })
    await expect(start(policy(await list(9)), { state: 'kept', home: gateway.home })).rejects.toThrow('in use')
  })
})

describe('reload', () => {
  it('uses a newer list of the file, keeps a newer stored one, and refuses a contradiction completely', async () => {
    const gateway = await start(policy(await list(9)))
    await gateway.reload(policy(await list(12, 'gone'), {}, 'newer'))
    expect((await shown(gateway)).revocation.sequence).toBe(12)
    await gateway.reload(policy(await list(12, 'other'), {}, 'conflict'))
    const { body } = await gateway.request('GET', '/v1/networks', { token: caller.token })
    expect(body['policy_revision']).toBe('newer')
    await gateway.reload(policy(await list(9), {}, 'old-file'))
    expect((await shown(gateway)).revocation.sequence).toBe(12)
    expect(await reasonsFor(gateway, 'gone')).toEqual(REVOKED)
  })

  it('accepts the same list signed again later, and refuses the earlier signature', async () => {
    const signed = (issuedAgo: bigint): Promise<RevocationList> =>
      testList(by, systemClock.now(), { sequence: 9, issuedAgo, entries: [{ certificate_id: 'gone' }] })
    const [earlier, later] = [await signed(seconds(600)), await signed(seconds(60))]
    const gateway = await start(policy(earlier))
    await gateway.reload(policy(later, {}, 'signed-again'))
    expect((await shown(gateway)).revocation).toMatchObject({ sequence: 9, next_update: later.next_update })
    await gateway.reload(policy(earlier, {}, 'old-file'))
    expect((await shown(gateway)).revocation).toMatchObject({ sequence: 9, next_update: later.next_update })
    expect(await reasonsFor(gateway, 'gone')).toEqual(REVOKED)
  })

  it('a removed client is refused on its next request; a bad file changes nothing', async () => {
    const first = policy(await list(9))
    const gateway = await start(first)
    await gateway.reload({ ...first, surprise: 1 })
    expect((await gateway.request('GET', '/v1/networks', { token: caller.token })).status).toBe(200)
    await gateway.reload({ ...first, clients: [testClient('another', ['agency']).entry] })
    expect((await gateway.request('GET', '/v1/networks', { token: caller.token })).status).toBe(401)
  })
})
