import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { testCertificate, testIssuer } from '@chancery/testkit'
import { systemClock } from '@chancery/service-kit'
import { type TestGatewaySetup, expectRefusal, startTestSetup } from '../../test-gateway.suite.ts'

let setup: TestGatewaySetup
beforeAll(async () => {
  setup = await startTestSetup({ entries: [{ certificate_id: 'gone', reason: 'key_compromise' }] })
})
afterAll(() => setup.gateway.stop())

describe('POST /verify', () => {
  describe('200', () => {
    it('trusts a valid certificate and names policy, issuer and list', async () => {
      const { status, body, headers } = await setup.verify(await setup.certificate())
      expect(status).toBe(200)
      expect(body).toMatchObject({ trusted: true, reasons: [], findings: [] })
      expect(body['evaluation']).toMatchObject({
        policy_revision: 'test-1',
        network: 'agency',
        issuer: 'na-main',
        crl_sequence: 9,
      })
      expect(headers['cache-control']).toBe('no-store')
    })

    it('refuses a revoked certificate with its reason', async () => {
      const { body } = await setup.verify(await setup.certificate({ cert_id: 'gone' }))
      expect(body).toMatchObject({ trusted: false, reasons: ['Revoked { reason: "key_compromise" }'] })
    })

    it('counts decisions', async () => {
      const before = await setup.metric('gateway_trust_decisions_total{result="trusted"}'.replace(/[{}]/g, '\\$&'))
      await setup.verify(await setup.certificate())
      const after = await setup.metric('gateway_trust_decisions_total{result="trusted"}'.replace(/[{}]/g, '\\$&'))
      expect(after).toBe(before + 1)
    })
  })

  describe('400', () => {
    it.each([
      ['invalid_json', '{'],
      ['invalid_json', ''],
      ['invalid_json', '{"certificate":1,"certificate":2}'],
    ])('%s: %s', async (reason, rawBody) => {
      const answer = await setup.gateway.request('POST', '/verify', { token: setup.caller.token, rawBody })
      expectRefusal(answer, 400, 'invalid_request', reason)
    })

    it('field limits are checked before trust inputs, and trust inputs before scope', async () => {
      const elsewhere = await testIssuer('elsewhere')
      const foreign = await testCertificate(elsewhere, systemClock.now())
      const anchors = { x: elsewhere.signer.publicKey }
      expectRefusal(
        await setup.verify({ ...foreign, cert_id: '' }, { anchors }),
        400,
        'invalid_request',
        'certificate_limits',
      )
      expectRefusal(await setup.verify(foreign, { anchors }), 400, 'invalid_request', 'trust_material_not_accepted')
      expectRefusal(await setup.verify(foreign), 403, 'forbidden', 'network_scope')
    })

    it('accepts empty trust inputs', async () => {
      expect((await setup.verify(await setup.certificate(), { anchors: {}, crl: null })).body['trusted']).toBe(true)
    })
  })

  it('a body too large for the event loop gives the same results', async () => {
    const { token } = setup.caller
    const certificate = await setup.certificate()
    const pad = ' '.repeat(140_000)
    const send = (rawBody: string) => setup.gateway.request('POST', '/verify', { token, rawBody })
    const good = await send(`${JSON.stringify({ certificate })}${pad}`)
    expect([good.status, good.body['trusted']]).toEqual([200, true])
    expectRefusal(await send(`{${pad}`), 400, 'invalid_request', 'invalid_json')
    expectRefusal(await send(`${JSON.stringify({ certificate, x: 1 })}${pad}`), 422, 'invalid_schema', 'field')
    const foreign = await testCertificate(await testIssuer('elsewhere'), systemClock.now())
    expectRefusal(await send(`${JSON.stringify({ certificate: foreign })}${pad}`), 403, 'forbidden', 'network_scope')
  })

  describe('401', () => {
    it('is checked before the body is read', async () => {
      expectRefusal(
        await setup.gateway.request('POST', '/verify', { rawBody: '{' }),
        401,
        'unauthorized',
        'credential_missing',
      )
    })
  })

  describe('413', () => {
    it('declared too large is refused before the credential is checked', async () => {
      const answer = await setup.gateway.request('POST', '/verify', { rawBody: new Uint8Array(1_048_577) })
      expectRefusal(answer, 413, 'payload_too_large', 'body')
    })
  })

  describe('415', () => {
    it('refuses other content types and codings', async () => {
      for (const headers of [{ 'content-type': 'text/plain' }, { 'content-encoding': 'gzip' }]) {
        const answer = await setup.gateway.request('POST', '/verify', { token: setup.caller.token, body: {}, headers })
        expectRefusal(answer, 415, 'unsupported_media_type', 'content_type')
      }
    })
  })

  describe('422', () => {
    it('names the member', async () => {
      const answer = await setup.verify({ ...(await setup.certificate()), extra: 1 })
      expectRefusal(answer, 422, 'invalid_schema', 'field')
      expect(answer.body['details']).toEqual({ path: 'certificate.extra' })
    })
  })
})

describe('POST /verify/batch', () => {
  it('200: keeps the order, and verifies all at one instant', async () => {
    const answer = await setup.batch([await setup.certificate(), await setup.certificate({ cert_id: 'gone' })])
    const results = answer.body['results'] as unknown as { trusted: boolean; evaluation: { evaluated_at: string } }[]
    expect(results.map(({ trusted }) => trusted)).toEqual([true, false])
    expect(new Set(results.map(({ evaluation }) => evaluation.evaluated_at)).size).toBe(1)
  })

  it('200: a body too large for the event loop gives the same result', async () => {
    const certificates = await Promise.all(
      Array.from({ length: 120 }, () =>
        setup.certificate({ roles: ['role:client', 'r'.repeat(100), 'q'.repeat(120)] }),
      ),
    )
    const padded = `${JSON.stringify({ certificates })}${' '.repeat(140_000)}`
    const answer = await setup.gateway.request('POST', '/verify/batch', { token: setup.caller.token, rawBody: padded })
    const results = answer.body['results'] as unknown as { trusted: boolean }[]
    expect([results.length, results.every(({ trusted }) => trusted)]).toEqual([120, true])
    const refused = await setup.gateway.request('POST', '/verify/batch', {
      token: setup.caller.token,
      rawBody: `{${' '.repeat(140_000)}`,
    })
    expectRefusal(refused, 400, 'invalid_request', 'invalid_json')
  })

  it('400: empty and too large', async () => {
    expectRefusal(await setup.batch([]), 400, 'invalid_request', 'batch_empty')
    const one = await setup.certificate()
    expectRefusal(await setup.batch(Array.from({ length: 129 }, () => one)), 400, 'invalid_request', 'batch_too_large')
  })

  it('403: one member of another network refuses all', async () => {
    const foreign = await testCertificate(await testIssuer('elsewhere'), systemClock.now())
    expectRefusal(await setup.batch([await setup.certificate(), foreign]), 403, 'forbidden', 'network_scope')
  })

  it('429: certificates are counted, and a refused request does not count', async () => {
    const limited = await startTestSetup({ client: { certificates_per_minute: 3 } })
    try {
      const one = await limited.certificate()
      expect((await limited.batch([one, one])).status).toBe(200)
      expectRefusal(await limited.batch([one, one]), 429, 'rate_limited', 'certificate_quota')
      expect((await limited.verify(one)).status).toBe(200)
    } finally {
      await limited.gateway.stop()
    }
  })

  it('503: a second batch is refused while one runs, and the slot is released', async () => {
    const busy = await startTestSetup({ settings: { GATEWAY_MAX_BATCH: '4096', GATEWAY_MAX_BODY_BYTES: '16777216' } })
    try {
      const one = await busy.certificate()
      const first = busy.batch(Array.from({ length: 4000 }, () => one))
      while ((await busy.metric('gateway_crypto_active')) === 0) await new Promise((done) => setTimeout(done, 5))
      expectRefusal(await busy.batch([one]), 503, 'unavailable', 'batch_capacity')
      // Errors of the request are reported before lack of capacity.
      expectRefusal(await busy.batch([]), 400, 'invalid_request', 'batch_empty')
      expect((await busy.verify(one)).body['trusted']).toBe(true)
      expect((await first).status).toBe(200)
      expect((await busy.batch([one])).status).toBe(200)
    } finally {
      await busy.gateway.stop()
    }
  })
})
