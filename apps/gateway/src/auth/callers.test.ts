import { writeFile } from 'node:fs/promises'
import { Agent, get } from 'node:https'
import { createHash } from 'node:crypto'
import { DAY, writeInstant } from '@chancery/protocol'
import {
  ManualClock,
  TestCa,
  startTestGateway,
  testClient,
  testIssuer,
  testList,
  testNetwork,
  testPolicy,
} from '@chancery/testkit'
import type { TestGateway } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectRefusal, startTestSetup } from '../test-gateway.suite.ts'

const NEXT_TOKEN = 'n'.repeat(40)
const digest = (token: string): string => createHash('sha256').update(token).digest('hex')

describe('bearer credentials', () => {
  const clock = new ManualClock('2026-03-02T12:00:00Z')
  const ending = testClient('ending', ['agency'], { expires_at: writeInstant(clock.now() + DAY) })
  const early = testClient('early', ['agency'], { not_before: writeInstant(clock.now() + DAY) })
  const rotating = testClient('rotating', ['agency'], { next_token_sha256: digest(NEXT_TOKEN) })
  const short = testClient('short', ['agency'], { token_sha256: digest('x'.repeat(31)) })
  let gateway: TestGateway
  beforeAll(async () => {
    const by = await testIssuer('agency')
    const network = testNetwork(by, await testList(by, clock.now(), { lasts: 3n * DAY }))
    gateway = await startTestGateway({
      policy: testPolicy({ agency: network }, [ending, early, rotating, short]),
      clock,
    })
  })
  afterAll(() => gateway.stop())
  const knock = (token?: string) => gateway.request('GET', '/v1/networks', token === undefined ? {} : { token })

  it('401: one text for missing, wrong and expired', async () => {
    const answers = [await knock(), await knock('y'.repeat(40)), await knock(early.token), await knock('x'.repeat(31))]
    const reasons = ['credential_missing', 'credential_invalid', 'credential_expired', 'credential_invalid']
    for (const [index, response] of answers.entries())
      expectRefusal(response, 401, 'unauthorized', reasons[index] ?? '')
    expect(new Set(answers.map(({ body }) => body['error'])).size).toBe(1)
    expect(answers[0]?.headers['www-authenticate']).toBe('Bearer')
  })

  it('a digest, a second part and other schemes are not credentials', async () => {
    for (const authorization of [
      `Bearer ${digest(ending.token)}`,
      `Bearer ${ending.token} x`,
      `Basic ${ending.token}`,
      ending.token,
    ]) {
      const response = await gateway.request('GET', '/v1/networks', { headers: { authorization } })
      expectRefusal(response, 401, 'unauthorized', 'credential_invalid')
    }
  })

  it('both tokens of a rotation act as one client; promotion ends the old token', async () => {
    expect((await knock(rotating.token)).body['client_id']).toBe('rotating')
    expect((await knock(NEXT_TOKEN)).body['client_id']).toBe('rotating')
  })

  it('expire on time without a restart', async () => {
    expect((await knock(ending.token)).status).toBe(200)
    clock.advance(86_400)
    expectRefusal(await knock(ending.token), 401, 'unauthorized', 'credential_expired')
  })
})

describe('failed authentications', () => {
  it('are throttled per address; a valid credential never is, and forwarding headers change nothing', async () => {
    const setup = await startTestSetup({ settings: { GATEWAY_AUTH_FAILURES_PER_MINUTE: '3' } })
    try {
      const fail = (from: string, headers = {}) =>
        setup.gateway.request('GET', '/v1/networks', { token: 'z'.repeat(40), from, headers })
      const statuses = []
      for (let n = 0; n < 5; n += 1) statuses.push((await fail('127.0.0.2')).status)
      expect(statuses).toEqual([401, 401, 401, 429, 429])
      expectRefusal(await fail('127.0.0.2', { 'x-forwarded-for': '10.1.2.3' }), 429, 'rate_limited', 'auth_throttled')
      expect((await fail('127.0.0.3')).status).toBe(401)
      const good = await setup.gateway.request('GET', '/v1/networks', { token: setup.caller.token, from: '127.0.0.2' })
      expect(good.status).toBe(200)
    } finally {
      await setup.gateway.stop()
    }
  })
})

describe('mutual TLS', () => {
  it('requires a certificate of the client authority, a credential, and a credential bound to the certificate', async () => {
    const ca = new TestCa()
    const [server, client, second] = [ca.issue('gateway'), ca.issue('caller'), ca.issue('second')]
    const foreign = new TestCa('another').issue('caller')
    const setup = await startTestSetup({
      client: { client_cert_sha256: [client.sha256] },
      files: { 'cert.pem': server.cert, 'key.pem': server.key, 'ca.pem': ca.cert },
      settings: {
        GATEWAY_TLS_CERT_FILE: '{home}/cert.pem',
        GATEWAY_TLS_KEY_FILE: '{home}/key.pem',
        GATEWAY_TLS_CLIENT_CA_FILE: '{home}/ca.pem',
      },
    })
    try {
      const ask = (tls: { cert?: string; key?: string }, token?: string) =>
        setup.gateway.request('GET', '/v1/networks', {
          tls: { ca: ca.cert, ...tls },
          ...(token === undefined ? {} : { token }),
        })
      expect((await ask({ cert: client.cert, key: client.key }, setup.caller.token)).status).toBe(200)
      expectRefusal(await ask({ cert: client.cert, key: client.key }), 401, 'unauthorized', 'credential_missing')
      expectRefusal(
        await ask({ cert: second.cert, key: second.key }, setup.caller.token),
        403,
        'forbidden',
        'client_certificate',
      )
      await expect(ask({}, setup.caller.token)).rejects.toThrow(/socket|certificate|ECONNRESET/i)
      await expect(ask({ cert: foreign.cert, key: foreign.key }, setup.caller.token)).rejects.toThrow(
        /socket|certificate|ECONNRESET/i,
      )
    } finally {
      await setup.gateway.stop()
      ca.remove()
    }
  })

  it('open connections continue under a new client authority only when it issued their certificate', async () => {
    const [old, next] = [new TestCa('old clients'), new TestCa('new clients')]
    const server = old.issue('gateway')
    const [leaving, staying] = [old.issue('leaving'), next.issue('staying')]
    const setup = await startTestSetup({
      files: { 'cert.pem': server.cert, 'key.pem': server.key, 'ca.pem': old.cert + next.cert },
      settings: {
        GATEWAY_TLS_CERT_FILE: '{home}/cert.pem',
        GATEWAY_TLS_KEY_FILE: '{home}/key.pem',
        GATEWAY_TLS_CLIENT_CA_FILE: '{home}/ca.pem',
      },
    })
    const agents: Agent[] = []
    const keep = ({ cert, key }: { cert: string; key: string }) => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1, ca: old.cert, cert, key })
      agents.push(agent)
      return () =>
        new Promise<number | string>((resolve) => {
          const headers = { authorization: `Bearer ${setup.caller.token}` }
          const sent = get(`${setup.gateway.url}/v1/networks`, { agent, headers }, (response) => {
            response.resume().on('end', () => resolve(`${response.statusCode} ${sent.reusedSocket ? 'reused' : 'new'}`))
          })
          sent.on('error', () => resolve('refused'))
        })
    }
    try {
      const [ofOld, ofNext] = [keep(leaving), keep(staying)]
      expect([await ofOld(), await ofOld(), await ofNext(), await ofNext()]).toEqual([
        '200 new',
        '200 reused',
        '200 new',
        '200 reused',
      ])
      await setup.gateway.gateway.reload()
      expect(await ofOld()).toBe('200 reused')
      await writeFile(`${setup.gateway.home}/ca.pem`, next.cert)
      await setup.gateway.gateway.reload()
      expect([await ofOld(), await ofNext()]).toEqual(['refused', '200 reused'])
      expect(await ofOld()).toBe('refused')
    } finally {
      for (const agent of agents) agent.destroy()
      await setup.gateway.stop()
      old.remove()
      next.remove()
    }
  })
})
