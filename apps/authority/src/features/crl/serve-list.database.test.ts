import { readListHeadHeader } from '@chancery/protocol'
import { ManualClock, accepted, startTestAuthority, verifiesWithNodeCrypto } from '@chancery/testkit'
import type { TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const UUID4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

describe('GET /crl', () => {
  const clock = new ManualClock('2026-03-01T12:00:00Z')
  let na: TestAuthority
  beforeAll(async () => {
    na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
  })
  afterAll(() => na.stop())

  describe('200', () => {
    it('lets concurrent first readers cause one empty list: sequence 0, signed, stored and audited once', async () => {
      const answers = await Promise.all(Array.from({ length: 12 }, () => na.request('GET', '/crl')))
      const [first] = answers
      if (first === undefined) throw new Error('no response')
      const list = accepted(first)
      expect(list).toEqual({
        crl_id: expect.stringMatching(UUID4),
        sequence: 0,
        issued_at: '2026-03-01T12:00:00Z',
        next_update: '2026-03-02T12:00:00Z',
        issuer: 'na-test',
        revoked_certificates: [],
        signatures: [{ key_id: 'na-test', sig: expect.any(String) }],
      })
      expect(verifiesWithNodeCrypto(first.text, na.genesis.network_authority.public_key)).toBe(true)
      expect(new Set(answers.map((answer) => answer.text)).size).toBe(1)
      const rows = await na.core.database.read.selectFrom('crl_versions').select('sequence').execute()
      expect(rows.map((row) => Number(row.sequence))).toEqual([0])
      const events = await na.auditEvents('crl_published')
      expect(events.map((event) => event['details'])).toEqual([
        expect.objectContaining({ sequence: 0, entries: 0, cause: 'refresh' }),
      ])
    })

    it('has a signed head, also in a 304, for readers that cannot read the whole list', async () => {
      const full = await na.request('GET', '/crl')
      const list = accepted(full)
      const again = await na.request('GET', '/crl', { headers: { 'If-None-Match': String(full.headers.etag) } })
      const value = String(again.headers['chancery-list-head'])
      expect(value).toBe(full.headers['chancery-list-head'])
      const issuer = String(list['issuer'])
      const anchors = new Map([[issuer, Buffer.from(na.genesis.network_authority.public_key, 'base64')]])
      expect(await readListHeadHeader(value, issuer, anchors)).toMatchObject({
        list_id: list['crl_id'],
        list_sequence: list['sequence'],
        list_bytes: Buffer.byteLength(full.text),
        issued_at: list['issued_at'],
        next_update: list['next_update'],
      })
    })

    it('can be cached by a CDN: strong ETag over the bytes, its own caching rule, 304', async () => {
      const { headers, text } = await na.request('GET', '/crl')
      expect(headers['content-type']).toBe('application/json')
      expect(headers['cache-control']).toBe('public, max-age=30, must-revalidate')
      expect(headers.etag).toMatch(/^"[^"]+"$/)
      const again = await na.request('GET', '/crl', { headers: { 'If-None-Match': String(headers.etag) } })
      expect([again.status, again.text]).toEqual([304, ''])
      const head = await na.request('HEAD', '/crl')
      expect([head.status, head.headers.etag, head.headers['content-length']]).toEqual([
        200,
        headers.etag,
        String(Buffer.byteLength(text)),
      ])
    })

    it('is the same list, byte for byte, until a new version is due', async () => {
      const before = await na.request('GET', '/crl')
      clock.advance(11 * 3600)
      const after = await na.request('GET', '/crl')
      expect([after.text, after.headers.etag]).toEqual([before.text, before.headers.etag])
    })

    it('is signed again as the next sequence when 12 h remain', async () => {
      clock.set('2026-03-02T00:00:00Z')
      const list = accepted(await na.request('GET', '/crl'))
      expect(list).toMatchObject({
        sequence: 1,
        issued_at: '2026-03-02T00:00:00Z',
        next_update: '2026-03-03T00:00:00Z',
        revoked_certificates: [],
      })
      expect(accepted(await na.request('GET', '/crl'))['sequence']).toBe(1)
    })

    it('is the same after a restart', async () => {
      const before = (await na.request('GET', '/crl')).text
      const again = await startTestAuthority({ database: na.database, clock, settings: { NA_CLOCK_CHECK: 'off' } })
      expect((await again.request('GET', '/crl')).text).toBe(before)
      await again.stop()
    })
  })
})
