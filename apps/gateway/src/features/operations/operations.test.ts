import { HOUR, type JsonObject, MINUTE } from '@chancery/protocol'
import { createLog } from '@chancery/service-kit'
import {
  ManualClock,
  startTestGateway,
  testClient,
  testIssuer,
  testList,
  testNetwork,
  testPolicy,
} from '@chancery/testkit'
import type { GatewayResponse } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { type TestGatewaySetup, expectRefusal, startTestSetup } from '../../test-gateway.suite.ts'

let setup: TestGatewaySetup
const clock = new ManualClock('2026-03-02T12:00:00Z')
beforeAll(async () => {
  setup = await startTestSetup({ clock })
})
afterAll(() => setup.gateway.stop())

describe('GET /health, /ready', () => {
  it('200 for any caller, also for HEAD', async () => {
    expect((await setup.gateway.request('GET', '/health')).body).toEqual({ status: 'ok' })
    expect((await setup.gateway.request('GET', '/ready')).body).toEqual({ status: 'ready' })
    const head = await setup.gateway.request('HEAD', '/ready')
    expect([head.status, head.text]).toEqual([200, ''])
  })

  it('503 in a worker without a recent message of its supervisor', async () => {
    const { gateway } = await startTestSetup()
    let hasLease = true
    try {
      Object.defineProperty(gateway.gateway.core.trust, 'hasLease', { get: () => hasLease })
      expect((await gateway.request('GET', '/ready')).body).toEqual({ status: 'ready' })
      hasLease = false
      const response = await gateway.request('GET', '/ready')
      expectRefusal(response, 503, 'unavailable', 'not_ready')
      expect(response.body['details']).toEqual({
        checks: { revocation: true, state: true, quota: true, audit_capacity: true, supervisor: false },
      })
    } finally {
      await gateway.stop()
    }
  })

  it('503 when a list expires, without naming the network; other networks are still verified', async () => {
    const time = new ManualClock('2026-03-02T12:00:00Z')
    const [ending, lasting] = [await testIssuer('ending'), await testIssuer('lasting')]
    const who = testClient('who', ['ending', 'lasting'])
    const networks = {
      ending: testNetwork(ending, await testList(ending, time.now(), { issuedAgo: 0n, lasts: MINUTE })),
      lasting: testNetwork(lasting, await testList(lasting, time.now(), { lasts: 10n * HOUR })),
    }
    const gateway = await startTestGateway({ policy: testPolicy(networks, [who]), clock: time })
    try {
      expect((await gateway.request('GET', '/ready')).status).toBe(200)
      time.advance(60)
      const response = await gateway.request('GET', '/ready')
      expectRefusal(response, 503, 'unavailable', 'not_ready')
      expect(response.body['details']).toEqual({
        checks: { revocation: false, state: true, quota: true, audit_capacity: true },
      })
      expect(response.text).not.toContain('ending')
      const { body } = await gateway.request('GET', '/v1/networks', { token: who.token })
      const networksShown = body['networks'] as unknown as { name: string; ready: boolean }[]
      expect(networksShown.map(({ name, ready }) => [name, ready])).toEqual([
        ['ending', false],
        ['lasting', true],
      ])
    } finally {
      await gateway.stop()
    }
  })
})

describe('the log', () => {
  const lines: JsonObject[] = []
  const destination = { write: (line: string) => void lines.push(JSON.parse(line) as JsonObject) }
  const log = createLog({ level: 'info', format: 'json', destination })
  const lineOf = (response: GatewayResponse): JsonObject | undefined => {
    const found = lines.filter((line) => line['request_id'] === response.headers['x-request-id'])
    expect(found).toHaveLength(1)
    return found[0]
  }

  it('has the request id of every response once, with route, status, code and caller, and no query', async () => {
    const own = await startTestSetup({ clock, log, lines: log })
    try {
      const { gateway, caller } = own
      expect(lineOf(await gateway.request('GET', '/api?token=hunter2'))).toMatchObject({
        event: 'request',
        route: 'GET /api',
        status: 200,
        caller: 'anonymous',
        duration_ms: expect.any(Number),
        instance: expect.stringMatching(/^[0-9a-f]{12}$/),
      })
      expect(lineOf(await gateway.request('GET', '/hunter2'))).toMatchObject({ route: 'none', status: 404 })
      // A request of a client has the line of the audit.
      const networks = await gateway.request('GET', '/v1/networks', { token: caller.token })
      expect(lineOf(networks)).toMatchObject({
        event: 'request completed',
        method: 'GET',
        route: '/v1/networks',
        status: 200,
        elapsed_us: expect.any(Number),
        caller: 'client',
        client_id: 'caller',
        instance: String(networks.headers['x-request-id']).slice(0, 12),
      })
      const refused = await gateway.request('POST', '/verify', { token: caller.token, body: {} })
      expect(refused.status).toBe(422)
      expect(lineOf(refused)).toMatchObject({
        event: 'request completed',
        status: 422,
        code: refused.body['reason'],
        caller: 'client',
        instance: expect.stringMatching(/^[0-9a-f]{12}$/),
      })
      const unknown = await gateway.request('GET', '/v1/networks', { token: `${'x'.repeat(40)}hunter2` })
      const events = lines.filter((line) => line['request_id'] === unknown.headers['x-request-id'])
      expect(events).toContainEqual(
        expect.objectContaining({ event: 'request', status: 401, caller: 'anonymous', code: 'credential_invalid' }),
      )
      expect(JSON.stringify(lines)).not.toContain('hunter2')
    } finally {
      await own.gateway.stop()
    }
  })

  it('logs the loss of readiness once, and its return once', async () => {
    lines.length = 0
    const own = await startTestSetup({ clock, log })
    try {
      const { core } = own.gateway.gateway
      const lost = vi.spyOn(core.quota, 'probe').mockResolvedValue(false)
      for (let asked = 0; asked < 3; asked += 1) await own.gateway.request('GET', '/ready')
      lost.mockRestore()
      for (let asked = 0; asked < 3; asked += 1) await own.gateway.request('GET', '/ready')
      const events = lines.map((line) => String(line['event'])).filter((event) => event.includes('ready'))
      expect(events).toEqual(['not ready: quota', 'ready again'])
    } finally {
      await own.gateway.stop()
    }
  })
})

describe('GET /api', () => {
  it('200: lists the enabled features', async () => {
    const { body } = await setup.gateway.request('GET', '/api')
    expect(body).toMatchObject({ service: 'chancery-gateway', mode: 'production' })
    expect(body['security_capabilities']).toEqual({
      durable_crl_state: false,
      durable_audit: false,
      oidc: false,
      shared_quotas: false,
      multi_issuer_crls: true,
      mtls: false,
      audit_delivery: false,
      hot_reload: true,
      sticky_revocation: true,
      access_tokens: false,
    })
  })
})

describe('GET /v1/networks', () => {
  it('200: the caller’s own networks, never digests or addresses', async () => {
    const response = await setup.gateway.request('GET', '/v1/networks', { token: setup.caller.token })
    const { networks, ...rest } = response.body
    expect(rest).toEqual({
      policy_revision: 'test-1',
      client_id: 'caller',
      service_groups: [],
      authority_admin: false,
      credential_expires_at: null,
    })
    expect(networks).toEqual([
      {
        name: 'agency',
        ready: true,
        services_configured: false,
        anchors: { 'na-main': setup.by.signer.publicKey },
        required_roles: [],
        revocation: {
          issuer: 'na-main',
          sequence: 9,
          issued_at: '2026-03-02T11:59:00Z',
          next_update: '2026-03-03T11:59:00Z',
          revoked_count: 0,
        },
        additional_issuers: [],
        suspect: false,
        last_refresh: null,
        authority_public_key: setup.by.signer.publicKey,
        admin_signature_version: 2,
      },
    ])
    expect(response.text).not.toContain(String(setup.caller.entry['token_sha256']))
  })
})

describe('GET /metrics', () => {
  it('200 for a metrics client, 403 for another', async () => {
    const response = await setup.gateway.request('GET', '/metrics', { token: setup.metricsClient.token })
    expect(response.headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8')
    expect(response.text).toContain('gateway_crl_sequence{network="agency",issuer="na-main"} 9')
    expect(response.text).toContain('gateway_crl_expires_in_seconds{network="agency",issuer="na-main"} 86340')
    expect(response.text).not.toContain('caller')
    const other = await setup.gateway.request('GET', '/metrics', { token: setup.caller.token })
    expectRefusal(other, 403, 'forbidden', 'metrics_scope')
  })
})

describe('paths and methods', () => {
  it('404 for every unknown path, including paths that create keys', async () => {
    for (const path of ['/no-such', '/issue', '/keygen', '/verify/', '/HEALTH', '/%76erify']) {
      expectRefusal(await setup.gateway.request('GET', path), 404, 'not_found', 'route')
    }
  })

  it('405 with Allow', async () => {
    const response = await setup.gateway.request('GET', '/verify')
    expectRefusal(response, 405, 'method_not_allowed', 'route')
    expect(response.headers['allow']).toBe('POST')
    const open = await setup.gateway.request('OPTIONS', '/health')
    expect([open.status, open.headers['allow']]).toEqual([405, 'GET, HEAD'])
    expect((await setup.gateway.request('HEAD', '/v1/networks', { token: setup.caller.token })).status).toBe(405)
  })

  it('every response has the security headers and an id of the gateway', async () => {
    const ids = new Set<string>()
    for (const path of ['/health', '/no-such', '/v1/networks']) {
      const { headers } = await setup.gateway.request('GET', path, { headers: { 'x-request-id': 'mine' } })
      expect(headers['content-security-policy']).toBe(
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; frame-ancestors 'none'; form-action 'none'",
      )
      expect(headers['x-content-type-options']).toBe('nosniff')
      expect(headers['x-request-id']).toMatch(/^[0-9a-f]{32}-[0-9a-f]{16}$/)
      ids.add(String(headers['x-request-id']))
    }
    expect(ids.size).toBe(3)
  })

  it('431 for a header field over the size limit', async () => {
    const response = await setup.gateway.request('GET', '/health', { headers: { 'x-large': 'y'.repeat(17_000) } })
    expectRefusal(response, 431, 'headers_too_large', 'headers_too_large')
  })
})

it('408 when the body does not arrive within the deadline', async () => {
  const slow = await startTestSetup({ settings: { GATEWAY_TIMEOUT_MS: '200' } })
  try {
    const { request } = await import('node:http')
    const status = await new Promise((resolve, reject) => {
      const sent = request(`${slow.gateway.url}/verify`, {
        method: 'POST',
        agent: false,
        headers: {
          authorization: `Bearer ${slow.caller.token}`,
          'content-type': 'application/json',
          'content-length': '50',
        },
      })
      sent.on('response', (response) => resolve(response.statusCode))
      sent.on('error', reject)
      sent.write('{"certificate":')
    })
    expect(status).toBe(408)
  } finally {
    await slow.gateway.stop()
  }
})
