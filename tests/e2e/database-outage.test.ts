import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { crl, policy, revocationFeeds, sovereign } from '@chancery/contract'
import { accepted, freePort, send, startTestAuthority, startTemporaryPostgres } from '@chancery/testkit'
import type { TestResponse, TestAuthority, TemporaryPostgres } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { startShippedHaproxy } from '../instances/shipped-haproxy.ts'

const DEPLOY = join(import.meta.dirname, '../../deploy')
const has = (program: string, ...args: string[]): boolean => spawnSync(program, args).status === 0
const DOCUMENTS = [
  '/crl',
  '/policy',
  '/genesis',
  '/sovereign.json',
  '/sovereign-revocation-feed',
  '/sovereign-revocation-feed/index',
]
const LIMIT = { timeout: 20_000, interval: 50 }

describe.runIf(has('haproxy', '-v') && has('nginx', '-v'))('PostgreSQL gone, behind the shipped balancers', () => {
  let folder: string
  let server: TemporaryPostgres
  const instances: TestAuthority[] = []
  const ends: (() => Promise<void>)[] = []
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'chancery-outage-'))
    server = await startTemporaryPostgres()
    const database = { settings: { DATABASE_URL: server.url }, drop: async () => undefined }
    const start = (): Promise<TestAuthority> => startTestAuthority({ database })
    const first = await start()
    // Published through one instance; the other takes it into memory at its start, without being asked.
    for (const path of DOCUMENTS) accepted(await send(first.url, 'GET', path))
    instances.push(first, await start())
  }, 60_000)
  afterAll(async () => {
    for (const end of ends) await end()
    await Promise.all(instances.map((instance) => instance.stop()))
    await server.remove()
    await rm(folder, { recursive: true })
  }, 60_000)

  it('serves every public document, refuses changes with a reason, and takes them again afterwards', async () => {
    const doors = [await openHaproxy(), await openNginx()]
    await vi.waitFor(async () => {
      for (const { core, features } of instances)
        for (const name of ['crl', 'policy', 'feed', 'feed-index'])
          expect(features.publishedDocuments.has(name, core.clock.now()), name).toBe(true)
    }, LIMIT)
    const readers = doors.map((door) => read(door))
    const change = (door: string): Promise<TestResponse> => send(door, 'POST', '/join', { body: {} })
    const isRefused = async (door: string): Promise<void> => {
      const answer = await change(door)
      expect(answer.status).toBe(503)
      expect(answer.json).toMatchObject({
        error: { code: 'service_unavailable', details: { reason: expect.any(String) }, request_id: expect.any(String) },
      })
    }
    await server.stop()
    for (const door of doors) await vi.waitFor(() => isRefused(door), LIMIT)
    await vi.waitFor(
      async () => expect((await send(instances[0]?.url ?? '', 'GET', '/readyz')).status).toBe(503),
      LIMIT,
    )
    expect((await send(instances[0]?.url ?? '', 'GET', '/readyz?for=reads')).json).toEqual({
      status: 'ready',
      for: 'reads',
    })
    // Long enough for both checks of HAProxy to reach every instance.
    await pause(1000)
    for (const door of doors) await isRefused(door)
    await server.start()
    for (const door of doors)
      await vi.waitFor(async () => expect((await change(door)).status, 'after').toBe(400), LIMIT)
    for (const reader of readers) {
      const { failed, served } = await reader.stop()
      expect(failed).toEqual([])
      expect(served).toBeGreaterThan(50)
    }
  }, 60_000)

  it('name the paths of exactly those documents', async () => {
    const served = [
      ...Object.values(sovereign),
      crl.current,
      crl.keys,
      policy.current,
      ...Object.values(revocationFeeds),
    ]
    const paths = new Set(
      served
        .filter(({ method, access }) => method === 'GET' && access === 'public')
        .map(({ path }) => path.split('/')[1]),
    )
    for (const file of ['compose/haproxy.cfg', 'nginx/authority.conf']) {
      const named = /\^\/\(([a-z|.[\]-]+)\)/.exec(await readFile(join(DEPLOY, file), 'utf8'))?.[1] ?? ''
      expect(new Set(named.replace('[.]', '.').split('|')), file).toEqual(paths)
    }
  })

  /** Reads one document after another until it is stopped. */
  function read(door: string): { stop(): Promise<{ readonly failed: readonly string[]; readonly served: number }> } {
    const failed: string[] = []
    let served = 0
    let isOver = false
    const work = async (): Promise<void> => {
      for (let at = 0; !isOver; at += 1) {
        const path = DOCUMENTS[at % DOCUMENTS.length] ?? ''
        const answer = await send(door, 'GET', path).catch((error: unknown) => ({ status: 0, text: String(error) }))
        if (answer.status === 200) served += 1
        else failed.push(`${path} ${answer.status} ${answer.text.slice(0, 200)}`)
        await pause(10)
      }
    }
    const workers = [work(), work()]
    return {
      stop: async () => {
        isOver = true
        await Promise.all(workers)
        return { failed, served }
      },
    }
  }

  const upstream = (index: number): string => `127.0.0.1:${new URL(instances[index]?.url ?? '').port}`

  async function openHaproxy(): Promise<string> {
    const [first, second] = instances
    if (first === undefined || second === undefined) throw new Error('two instances are needed')
    const haproxy = await startShippedHaproxy({ folder, upstream: [first.url, second.url], checkEveryMs: 100 })
    ends.push(() => haproxy.stop())
    return haproxy.url
  }

  async function openNginx(): Promise<string> {
    const port = await freePort()
    const site = (await readFile(join(DEPLOY, 'nginx/authority.conf'), 'utf8'))
      .replace('listen 8443 ssl;', `listen 127.0.0.1:${port};`)
      .replaceAll(/^ *ssl_certificate.*$/gm, '')
      .replaceAll('authority-1:8443', upstream(0))
      .replaceAll('authority-2:8443', upstream(1))
    const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      (name) => `${name}_temp_path ${folder}/${name};`,
    )
    const text = `daemon off; master_process off; pid ${folder}/nginx.pid; error_log stderr crit;
events { worker_connections 256; }
http { access_log off; ${places.join(' ')} ${site} }`
    const file = join(folder, 'nginx.conf')
    await writeFile(file, text)
    execFileSync('nginx', ['-t', '-q', '-c', file], { stdio: 'pipe' })
    return open(port, ['nginx', '-c', file])
  }

  async function open(port: number, command: readonly string[]): Promise<string> {
    const child = spawn('setpriv', ['--pdeathsig', 'KILL', ...command], { stdio: 'ignore' })
    ends.push(async () => {
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
    })
    const url = `http://127.0.0.1:${port}`
    await vi.waitFor(async () => expect((await send(url, 'GET', '/healthz')).status).toBe(200), LIMIT)
    return url
  }
})
