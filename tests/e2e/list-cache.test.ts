import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { JoinCertificate } from '@chancery/protocol'
import { createAuthorityClient } from '@chancery/sdk/authority'
import { FollowedParty } from '@chancery/sdk/internal'
import {
  ManualClock,
  accepted,
  enroll,
  freePort,
  nodeCaller,
  seedCertificates,
  send,
  startTestAuthority,
  testSigner,
} from '@chancery/testkit'
import type { TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'

const hasNginx = spawnSync('nginx', ['-v']).status === 0
const CDN_PAGE = join(import.meta.dirname, '../../docs/operate/cdn.md')

/** nginx with the configuration of the page, in front of an authority: what a reader of lists gets through a cache. */
describe.runIf(hasNginx)('revocation lists behind a cache', () => {
  const clock = new ManualClock('2026-03-01T12:00:00Z')
  let folder: string
  let na: TestAuthority
  let url: string
  let ids: string[]
  let certificate: JoinCertificate
  let revoked: JoinCertificate
  let end: () => Promise<void> = () => Promise.resolve()

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'chancery-cache-'))
    na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
    const node = async (name: string): Promise<JoinCertificate> =>
      enroll(
        na,
        nodeCaller(na.url, await testSigner('node', name), () => clock.now()),
      )
    certificate = await node('trusted')
    revoked = await node('revoked')
    const { publicKey } = await testSigner('node', 'others')
    ids = (await seedCertificates(na.parts, { count: 620, node_public_key: publicKey })).map(({ cert_id }) => cert_id)
    await revoke(ids.slice(0, 600))
    url = await openNginx()
  })
  afterAll(async () => {
    await end()
    await na.stop()
    await rm(folder, { recursive: true, force: true })
  })

  const revoke = async (cert_ids: readonly string[]): Promise<void> =>
    void accepted(await na.as('privileged')('POST', '/admin/revoke', { cert_ids, only_this: true }))

  async function openNginx(): Promise<string> {
    const port = await freePort()
    const [, page = ''] = /```\n(proxy_cache_path[^`]*)```/.exec(await readFile(CDN_PAGE, 'utf8')) ?? []
    const [path = '', ...location] = page.replace('/var/cache/chancery', join(folder, 'cache')).split('\n\n')
    const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      (name) => `${name}_temp_path ${folder}/${name};`,
    )
    const user = process.getuid?.() === 0 ? 'user root;' : ''
    const text = `daemon off; master_process off; ${user} pid ${folder}/nginx.pid; error_log stderr crit;
events { worker_connections 256; }
http { access_log off; ${places.join(' ')} ${path}
upstream authority { server 127.0.0.1:${new URL(na.url).port}; }
server { listen 127.0.0.1:${port}; add_header X-Cache $upstream_cache_status always; ${location.join('\n')}
location / { proxy_pass http://authority; } } }`
    const file = join(folder, 'nginx.conf')
    await mkdir(join(folder, 'cache'))
    await writeFile(file, text)
    execFileSync('nginx', ['-t', '-q', '-c', file], { stdio: 'pipe' })
    const child = spawn('setpriv', ['--pdeathsig', 'KILL', 'nginx', '-c', file], { stdio: 'ignore' })
    end = async () => {
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
    }
    const address = `http://127.0.0.1:${port}`
    await vi.waitFor(async () => expect((await send(address, 'GET', '/healthz')).status).toBe(200), { timeout: 20_000 })
    return address
  }

  const cached = async (path: string): Promise<unknown> => (await send(url, 'GET', path)).headers['x-cache']
  /** What a purge after a revocation does. */
  const purge = async (): Promise<void> => {
    await rm(join(folder, 'cache'), { recursive: true, force: true })
    await mkdir(join(folder, 'cache'))
  }

  it('stores list, version and delta, each delta by its start', async () => {
    await revoke(ids.slice(600, 602))
    const { sequence } = JSON.parse((await send(url, 'GET', '/crl')).text) as { sequence: number }
    const paths = [`/crl/${sequence}`, `/crl/delta?from=${sequence}`, `/crl/delta?from=${sequence - 1}`]
    for (const path of paths) expect([await cached(path), await cached(path)], path).toEqual(['MISS', 'HIT'])
    expect(await cached('/crl')).toBe('HIT')
    const [same, changed] = await Promise.all(paths.slice(1).map(async (path) => (await send(url, 'GET', path)).text))
    expect(same).not.toBe(changed)
    const direct = await na.request('GET', `/crl/${sequence}`)
    expect((await send(url, 'GET', `/crl/${sequence}`)).text).toBe(direct.text)
  })

  it('can only delay a revocation: an old copy ends with its next_update, and a reader never goes back', async () => {
    await purge()
    const asked: string[] = []
    const fetch = (target: string, init: RequestInit): Promise<Response> => {
      asked.push(new URL(target).pathname)
      return globalThis.fetch(target, init)
    }
    const client = createAuthorityClient({ url, retry: false, fetch })
    const party = await FollowedParty.open({ client, genesis: na.genesis, clock: () => clock.now() })
    const isTrusted = async (each: JoinCertificate): Promise<boolean> => (await party.evaluate(each)).trusted
    expect([await isTrusted(certificate), await isTrusted(revoked)]).toEqual([true, true])
    await party.refresh()
    // The cache has an answer that is still fresh for it, so the reader does not know yet.
    await revoke([revoked.cert_id])
    await party.refresh()
    expect(await isTrusted(revoked)).toBe(true)
    await purge()
    asked.length = 0
    await party.refresh()
    expect([await isTrusted(certificate), await isTrusted(revoked)]).toEqual([true, false])
    // As a delta, not as a list.
    expect(asked.filter((path) => path.startsWith('/crl'))).toEqual(['/crl/delta'])

    // The authority is away, and the cache goes on with its copy: until the signed end, and no longer.
    await na.stop()
    clock.advance(23 * 3600)
    await party.refresh().catch(() => undefined)
    expect([await isTrusted(certificate), await isTrusted(revoked)]).toEqual([true, false])
    clock.advance(3600)
    await party.refresh().catch(() => undefined)
    expect([await isTrusted(certificate), await isTrusted(revoked)]).toEqual([false, false])
  })
})
