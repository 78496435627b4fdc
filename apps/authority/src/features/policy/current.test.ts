import { type TestAuthority, accepted, refused, startTestAuthority, verifiesWithNodeCrypto } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

describe('GET /policy', () => {
  let na: TestAuthority
  beforeAll(async () => {
    na = await startTestAuthority({ network: 'POLICY-NET' })
  })
  afterAll(() => na.stop())

  describe('200', () => {
    it('lets concurrent first readers see one default policy, signed, stored and audited once', async () => {
      const answers = await Promise.all(Array.from({ length: 8 }, () => na.request('GET', '/policy')))
      const policy = accepted(answers[0] ?? (await na.request('GET', '/policy')))
      expect(policy).toEqual({
        policy_id: 'policy-POLICY-NET-v0.1',
        issued_at: expect.any(String),
        issued_by: 'na-test',
        min_client_version: '0.1.0',
        allowed_ports: [443, 8443],
        allowed_services: [],
        routing: { preferred_transports: ['quic', 'wireguard'], max_hops: 6 },
        signatures: [{ key_id: 'na-test', sig: expect.any(String) }],
      })
      expect(new Set(answers.map((answer) => answer.text)).size).toBe(1)
      expect(verifiesWithNodeCrypto(answers[0]?.text ?? '', na.genesis.network_authority.public_key)).toBe(true)
      const rows = await na.core.database.read.selectFrom('policy_versions').selectAll().execute()
      expect(rows.map((row) => [row.policy_id, row.active, row.policy_json])).toEqual([
        ['policy-POLICY-NET-v0.1', 1, answers[0]?.text],
      ])
      expect(await na.auditEvents('policy_published')).toHaveLength(1)
    })

    it('can be cached by a CDN: strong ETag, its own caching rule, 304', async () => {
      const { headers, text } = await na.request('GET', '/policy')
      expect(headers['cache-control']).toBe('public, max-age=30, must-revalidate')
      expect(headers.etag).toMatch(/^"[^"]+"$/)
      const again = await na.request('GET', '/policy', { headers: { 'If-None-Match': String(headers.etag) } })
      expect([again.status, again.text, again.headers.etag]).toEqual([304, '', headers.etag])
      const head = await na.request('HEAD', '/policy')
      expect([head.status, head.text, head.headers.etag, head.headers['content-length']]).toEqual([
        200,
        '',
        headers.etag,
        String(Buffer.byteLength(text)),
      ])
    })

    it('shows a published policy from the next request on, with a new ETag', async () => {
      const before = await na.request('GET', '/policy')
      const published = await na.as('privileged')('POST', '/admin/policy', { policy_id: 'p-next' })
      accepted(published, 201)
      const after = await na.request('GET', '/policy', { headers: { 'If-None-Match': String(before.headers.etag) } })
      expect([after.status, after.text]).toEqual([200, published.text])
      expect(after.headers.etag).not.toBe(before.headers.etag)
      accepted(await na.as('privileged')('POST', '/admin/policy/rollback', { policy_id: 'policy-POLICY-NET-v0.1' }))
      expect((await na.request('GET', '/policy')).headers.etag).toBe(before.headers.etag)
    })
  })

  describe('429', () => {
    it('limits public reads per address, in this process, and sends Retry-After', async () => {
      const own = await startTestAuthority({ settings: { NA_RATE_LIMIT_PUBLIC_PER_MINUTE: '3' } })
      const paths = ['/policy', '/genesis', '/sovereign.json']
      for (const path of paths) accepted(await own.request('GET', path, { from: '127.4.0.1' }))
      for (const path of [...paths, '/crl', '/swagger.json', '/surfaces']) {
        const answer = await own.request('GET', path, { from: '127.4.0.1' })
        refused(answer, 429, 'rate_limit_exceeded')
        expect(answer.headers['retry-after']).toBe('60')
      }
      accepted(await own.request('GET', '/policy', { from: '127.4.0.2' }))
      for (const path of ['/healthz', '/readyz', '/health'])
        accepted(await own.request('GET', path, { from: '127.4.0.1' }))
      expect((await own.request('GET', '/metrics', { from: '127.4.0.1' })).status).toBe(200)
      // Never in a shared limiter, because a public read must not cause a write.
      expect(await own.core.database.read.selectFrom('rate_limit_windows').selectAll().execute()).toEqual([])
      await own.stop()
    })

    it('is disabled with 0', async () => {
      const own = await startTestAuthority({ settings: { NA_RATE_LIMIT_PUBLIC_PER_MINUTE: '0' } })
      for (let i = 0; i < 5; i += 1) accepted(await own.request('GET', '/policy'))
      await own.stop()
    })
  })
})
