import { type Socket, connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { signOperatorRequest, writeInstant } from '@chancery/protocol'
import { type TestAuthority, accepted, eventsOfCallers, startTestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const IMPORT = '/admin/sovereign-revocation-feeds/import'
const LARGE = 1_000_000

let na: TestAuthority
const sockets: Socket[] = []

beforeAll(async () => {
  na = await startTestAuthority()
})
afterAll(async () => {
  for (const socket of sockets) socket.destroy()
  await na.stop()
})

/** Sends a head that announces a large body, and a part of the body. Returns the response within the time, as text. */
async function announce(
  path: string,
  { headers = {}, part = 0, from = '127.0.9.1' }: { headers?: Record<string, string>; part?: number; from?: string },
): Promise<{ heard: () => string; socket: Socket }> {
  const socket = connect({ port: Number(new URL(na.url).port), host: '127.0.0.1', localAddress: from })
  sockets.push(socket)
  let received = ''
  socket.on('data', (bytes) => (received += bytes.toString('latin1'))).on('error', () => undefined)
  const lines = Object.entries({ Host: 'na.test', 'Content-Length': String(LARGE), ...headers })
  socket.write(`POST ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`)
  socket.write(Buffer.alloc(part, 0x20))
  await pause(20)
  return { heard: () => received, socket }
}

async function responseTo(call: { heard: () => string }): Promise<string> {
  for (let i = 0; i < 2000 && call.heard() === ''; i += 1) await pause(5)
  return call.heard()
}

async function signed(changes: Record<string, string> = {}): Promise<Record<string, string>> {
  const signer = na.signers['privileged']
  if (signer === undefined) throw new Error('no operator')
  const headers = await signOperatorRequest(
    {
      method: 'POST',
      path: IMPORT,
      query: {},
      audience: na.genesis.network_authority.public_key,
      body: {},
      timestamp: writeInstant(na.core.clock.now()),
      nonce: `withheld-${sockets.length}`,
    },
    signer,
  )
  return { ...headers, ...changes }
}

async function metric(name: string): Promise<number> {
  const { text } = await na.request('GET', '/metrics')
  return Number(
    text
      .split('\n')
      .find((line) => line.startsWith(`${name} `))
      ?.split(' ')
      .at(-1),
  )
}

describe('a large operator body', () => {
  it.each<[string, () => Promise<Record<string, string>>]>([
    ['without headers', async () => ({})],
    ['with a header missing', async () => ({ 'X-Admin-Key-Id': 'op-privileged' })],
    ['of a key that is not configured', () => signed({ 'X-Admin-Key-Id': 'op-unknown' })],
    ['with an old timestamp', () => signed({ 'X-Admin-Timestamp': '2020-01-01T00:00:00Z' })],
  ])('%s is refused before the body is read', async (_what, headers) => {
    const before = (await eventsOfCallers(na)).length
    const answer = await responseTo(await announce(IMPORT, { headers: await headers() }))
    expect(answer).toMatch(/^HTTP\/1\.1 401 /)
    expect(answer).toContain('"code":"admin_auth_failed"')
    await expect.poll(async () => (await eventsOfCallers(na)).length).toBe(before + 1)
  })

  it('with valid headers is read, and verified by its signature', async () => {
    const call = await announce(IMPORT, { headers: await signed() })
    await pause(200)
    expect(call.heard()).toBe('')
    call.socket.write(`{"feed":{}}${' '.repeat(LARGE - 11)}`)
    expect(await responseTo(call)).toMatch(/^HTTP\/1\.1 401 /)
  })

  it('is not read from an address over its limit', async () => {
    const limited = await startTestAuthority({ settings: { NA_RATE_LIMIT_ADMIN_PER_MINUTE: '1' } })
    const own = na
    try {
      na = limited
      expect(await responseTo(await announce(IMPORT, { from: '127.0.9.3' }))).toMatch(/^HTTP\/1\.1 401 /)
      expect(await responseTo(await announce(IMPORT, { from: '127.0.9.3' }))).toMatch(/^HTTP\/1\.1 429 /)
    } finally {
      na = own
      await limited.stop()
    }
  })
})

describe('withheld bodies of one address', () => {
  it('stop neither operators nor nodes nor readers elsewhere, and end with their connections', async () => {
    const held = []
    for (let i = 0; i < 24; i += 1)
      held.push(await announce('/attestations/verify', { part: LARGE - 1, from: '127.0.9.7' }))
    await expect.poll(() => metric('chancery_http_body_bytes{room="open"}')).toBeGreaterThan(4_000_000)
    expect(await metric('chancery_http_body_bytes{room="open"}')).toBeLessThanOrEqual(8_388_608)
    accepted(await na.as('privileged')('POST', '/admin/invite', {}), 201)
    accepted(await na.request('GET', '/crl'))
    const body = { attestation: {}, recognition_policy: {} }
    expect((await na.request('POST', '/attestations/verify', { body })).status).toBe(422)
    for (const { socket } of held) socket.destroy()
    await expect.poll(() => metric('chancery_http_body_bytes{room="open"}')).toBe(0)
    await expect.poll(() => metric('chancery_http_requests_in_flight')).toBe(0)
  })
})
