import { NO_POLICY_MANIFEST } from '@chancery/protocol'
import { type TestAuthority, accepted, startTestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

// protocol/core 19, name by name.
const PATHS = {
  genesis: '/genesis',
  recognition_treaties: '/recognition-treaties',
  sovereign_revocation_feed: '/sovereign-revocation-feed',
  sovereign_revocation_feed_index: '/sovereign-revocation-feed/index',
  connectome: '/connectome.json',
  recognition_graph: '/recognition-graph',
  atlas: '/atlas.json',
  swagger: '/swagger.json',
  surfaces: '/surfaces',
  api_reference: '/api-reference',
  cli_reference: '/cli-reference',
  dry_run: '/swagger.json',
}
const urls = (base: string): Record<string, string> =>
  Object.fromEntries(Object.entries(PATHS).map(([name, path]) => [name, base + path]))

describe('GET /sovereign.json', () => {
  let na: TestAuthority
  beforeAll(async () => {
    na = await startTestAuthority({ network: 'SOVEREIGN-NET' })
  })
  afterAll(() => na.stop())

  describe('200', () => {
    it('has exactly the members that another network needs', async () => {
      const answer = await na.request('GET', '/sovereign.json', { headers: { Host: 'na.example:8443' } })
      expect(accepted(answer)).toEqual({
        sovereign_id: 'SOVEREIGN-NET',
        network_name: 'SOVEREIGN-NET',
        network_version: 'v0.1',
        endpoint: na.url,
        network_authority: na.genesis.network_authority,
        root_public_key: na.genesis.root_public_key,
        policy_manifest: { hash: NO_POLICY_MANIFEST, url: null },
        bootstrap_anchor_count: 0,
        supported_surfaces: urls(na.url),
      })
      expect(answer.headers['cache-control']).toBe('no-store')
    })

    it('contains no operator key, path or address of the installation', async () => {
      const { text } = await na.request('GET', '/sovereign.json')
      for (const secret of [
        'op-privileged',
        'op-standard',
        na.signers['privileged']?.publicKey ?? '?',
        'chancery-home',
        'authority.db',
        'postgresql',
      ]) {
        expect(text).not.toContain(secret)
      }
    })

    it.each(['0', '1'])(
      'names the address of the listener, whatever the caller sends, with %s proxies',
      async (hops) => {
        const own = await startTestAuthority({ settings: { NA_PROXY_HOPS: hops } })
        const headers = { Host: 'evil.example', 'X-Forwarded-Host': 'evil.example', 'X-Forwarded-Proto': 'https' }
        const metadata = await own.request('GET', '/sovereign.json', { headers })
        expect(accepted(metadata)['endpoint']).toBe(own.url)
        const { text } = await own.request('GET', '/swagger.json', { headers })
        expect(text).toContain(own.url)
        for (const each of [metadata.text, text, (await own.request('GET', '/', { headers })).text])
          expect(each).not.toContain('evil.example')
        await own.stop()
      },
    )

    it('uses NA_PUBLIC_URL whatever the caller sends', async () => {
      const own = await startTestAuthority({
        settings: { NA_PUBLIC_URL: 'https://authority.example:9443', NA_PROXY_HOPS: '1' },
      })
      const headers = { Host: 'evil.example', 'X-Forwarded-Host': 'evil.example' }
      const metadata = accepted(await own.request('GET', '/sovereign.json', { headers }))
      expect(metadata['endpoint']).toBe('https://authority.example:9443')
      expect(metadata['supported_surfaces']).toEqual(urls('https://authority.example:9443'))
      expect(accepted(await own.request('GET', '/swagger.json', { headers }))['servers']).toEqual([
        { url: 'https://authority.example:9443' },
      ])
      await own.stop()
    })
  })
})

describe('GET /genesis', () => {
  it('returns the block with its root signature, cacheable for 300 s', async () => {
    const na = await startTestAuthority()
    const answer = await na.request('GET', '/genesis')
    expect(accepted(answer)).toEqual(na.genesis)
    expect(answer.headers['cache-control']).toBe('public, max-age=300, must-revalidate')
    expect(answer.headers['content-type']).toBe('application/json')
    expect(answer.headers.etag).toMatch(/^"[^"]+"$/)
    const again = await na.request('GET', '/genesis', { headers: { 'If-None-Match': String(answer.headers.etag) } })
    expect([again.status, again.text]).toEqual([304, ''])
    await na.stop()
  })
})
