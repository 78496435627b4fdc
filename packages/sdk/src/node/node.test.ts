import { mkdtemp, rm, stat, chmod, readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { ManualClock, type TestAuthority, createInvite, startTestAuthority } from '@chancery/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { instantOf } from '@chancery/protocol'
import { createAuthorityClient } from '../authority/client.ts'
import { FileNodeStore } from '../nodejs/index.ts'
import { type StartOptions, type StartedNode, startNode } from '../testing/started-node.suite.ts'
import { MemoryNodeStore, type NodeStore } from './followed.ts'

let clock: ManualClock
let na: TestAuthority
beforeEach(async () => {
  clock = new ManualClock('2026-03-01T00:00:00Z')
  na = await startTestAuthority({ clock, backend: 'sqlite', settings: { NA_HEARTBEAT_SECONDS: '900' } })
})
afterEach(() => na.stop())

/** Time passes only while a node rests, so a week takes as long as its calls do. */
function options(store: NodeStore, more: Partial<StartOptions> = {}): StartOptions {
  return {
    url: na.url,
    genesis: na.genesis,
    store,
    invite: () => createInvite(na, { max_validity_hours: 24 }),
    clock: () => clock.now(),
    sleep: (ms) => {
      clock.advance(ms / 1000)
      return new Promise((resolve) => setImmediate(resolve))
    },
    random: () => 0.5,
    followRevocations: true,
    ...more,
  }
}

/** Runs until the condition holds, and stops. */
async function runUntil(node: StartedNode, isDone: () => boolean): Promise<void> {
  for (let turn = 0; turn < 20_000 && !isDone(); turn += 1) await new Promise((resolve) => setImmediate(resolve))
  await node.stop()
  expect(isDone()).toBe(true)
}

function record(node: StartedNode): { readonly name: string; readonly at: bigint }[] {
  const logged: { name: string; at: bigint }[] = []
  for (const name of ['started', 'heartbeat', 'renewed', 'registered', 'revocations', 'policy', 'failed'] as const)
    node.on(name, () => logged.push({ name, at: clock.now() }))
  return logged
}

describe('a node', () => {
  it('beats at the pace asked for and renews long before its certificate ends', async () => {
    const node = await startNode(options(new MemoryNodeStore()))
    const first = node.certificate
    const logged = record(node)
    const renewed: bigint[] = []
    node.on('renewed', ({ replaces }) => {
      expect(renewed.length > 0 || replaces === first.cert_id).toBe(true)
      renewed.push(clock.now())
    })
    await runUntil(node, () => renewed.length === 3)
    const beats = logged.filter(({ name }) => name === 'heartbeat').map(({ at }) => Number(at / 1_000_000n))
    const gaps = beats.slice(1).map((at, index) => at - (beats[index] ?? 0))
    expect(Math.max(...gaps)).toBeLessThanOrEqual(991)
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(809)
    // Two thirds of 24 h at the earliest, with a tenth of spread, of which this chance takes half.
    const hours = Number(((renewed[0] ?? 0n) - instantOf(first.issued_at)) / 3_600_000_000n)
    expect(hours).toBeGreaterThanOrEqual(16)
    expect(hours).toBeLessThan(19)
    expect(logged.filter(({ name }) => name === 'failed')).toEqual([])
    expect(await node.ended).toEqual({ reason: 'stopped' })
  })

  it('is the same node after a restart, and needs no second invite', async () => {
    const store = new MemoryNodeStore()
    const first = await startNode(options(store))
    await first.stop()
    const second = await startNode(options(store, { invite: 'spent' }))
    const resumed: boolean[] = []
    second.on('started', (event) => resumed.push(event.resumed))
    await runUntil(second, () => resumed.length === 1)
    expect([second.publicKey, second.certificate]).toEqual([first.publicKey, first.certificate])
    expect(resumed).toEqual([true])
  })

  it('keeps its agent announced and takes it away when it stops', async () => {
    const agent = { agent_id: 'a', capabilities: ['print'], endpoint: { host: 'h.example', port: 443 } }
    const node = await startNode(options(new MemoryNodeStore(), { agent }))
    const logged = record(node)
    const reader = createAuthorityClient({ url: na.url })
    let missing = 0
    node.on('heartbeat', () => {
      void reader.agents.count().then((count) => (missing += count === 1 ? 0 : 1))
    })
    await runUntil(node, () => logged.filter(({ name }) => name === 'registered').length === 8)
    expect(missing).toBeLessThanOrEqual(1)
    expect(await reader.agents.count()).toBe(0)
  })

  it('follows the revocation list and the policy, and fetches neither while no change is announced', async () => {
    const node = await startNode(options(new MemoryNodeStore()))
    const logged = record(node)
    const count = (name: string): number => logged.filter((each) => each.name === name).length
    let isChanged = false
    const other = await startNode(options(new MemoryNodeStore()))
    await other.stop()
    node.on('heartbeat', () => {
      if (isChanged || count('heartbeat') < 4) return
      isChanged = true
      void na.as('privileged')('POST', '/admin/revoke', { cert_id: other.certificate.cert_id })
      void na.as('privileged')('POST', '/admin/policy', { allowed_ports: [8443] })
    })
    const listed = (): number => node.crl?.revoked_certificates.length ?? 0
    await runUntil(node, () => listed() === 1 && node.policy?.allowed_ports.length === 1)
    // The list it began with, the one of the change, and at most one that was signed again meanwhile.
    expect(count('revocations')).toBeLessThanOrEqual(3)
    expect(node.crl?.revoked_certificates.map(({ certificate_id }) => certificate_id)).toEqual([
      other.certificate.cert_id,
    ])
    expect(node.policy?.allowed_ports).toEqual([8443])
  })

  it('reads no revocation list by default, and still ends when its certificate is revoked', async () => {
    const asked: string[] = []
    const fetch = (url: string, init: RequestInit): Promise<Response> => {
      asked.push(new URL(url).pathname)
      return globalThis.fetch(url, init)
    }
    const node = await startNode(options(new MemoryNodeStore(), { fetch, followRevocations: false }))
    node.on('heartbeat', () => void na.as('privileged')('POST', '/admin/revoke', { cert_id: node.certificate.cert_id }))
    expect(await node.ended).toMatchObject({ reason: 'revoked', error: { code: 'certificate_revoked' } })
    await expect(node.ask('x', { attestation: 'a' })).rejects.toMatchObject({ kind: 'revoked' })
    expect(asked.filter((path) => path.startsWith('/crl'))).toEqual([])
    expect(node.crl).toBeUndefined()
  })

  it('ends when its certificate is revoked, and says why', async () => {
    const node = await startNode(options(new MemoryNodeStore()))
    node.on(
      'revocations',
      () => void na.as('privileged')('POST', '/admin/revoke', { cert_id: node.certificate.cert_id }),
    )
    expect(await node.ended).toMatchObject({
      reason: 'revoked',
      error: { kind: 'revoked', code: 'certificate_revoked' },
    })
  })

  it('goes on trying while the authority is away', async () => {
    let isAway = false
    const fetch = (url: string, init: RequestInit): Promise<Response> =>
      isAway ? Promise.reject(new TypeError('fetch failed')) : globalThis.fetch(url, init)
    const node = await startNode(options(new MemoryNodeStore(), { fetch, retry: false }))
    const logged = record(node)
    const count = (name: string): number => logged.filter((each) => each.name === name).length
    node.on('heartbeat', () => (isAway = count('heartbeat') === 2))
    node.on('failed', () => (isAway = count('failed') < 5))
    await runUntil(node, () => count('heartbeat') >= 4)
    expect(count('failed')).toBe(5)
  })

  it('holds on to a renewed certificate while the store refuses it', async () => {
    let isFull = false
    const stored = new MemoryNodeStore()
    const store: NodeStore = {
      signer: () => stored.signer(),
      read: (name) => stored.read(name),
      write: (name, text) =>
        isFull && name === 'certificate' ? Promise.reject(new Error('full')) : stored.write(name, text),
    }
    const node = await startNode(options(store))
    const [failures, renewed]: [string[], string[]] = [[], []]
    isFull = true
    node.on('failed', ({ action }) => {
      failures.push(action)
      isFull = failures.length < 3
    })
    node.on('renewed', (event) => renewed.push(event.certificate.cert_id))
    await runUntil(node, () => renewed.length === 1 && failures.length === 3 && !isFull)
    expect(await stored.read('certificate')).toContain(renewed[0])
    expect(new Set(failures)).toEqual(new Set(['save']))
  })

  it('refuses a genesis block that does not hold, and a store without a certificate or an invite', async () => {
    const broken = { ...na.genesis, network_name: 'OTHER' }
    await expect(startNode(options(new MemoryNodeStore(), { genesis: broken }))).rejects.toThrow('genesis block')
    const { invite: _none, ...without } = options(new MemoryNodeStore())
    await expect(startNode(without)).rejects.toThrow('no invite')
  })
})

describe('FileNodeStore', () => {
  let folder: string
  beforeEach(async () => {
    folder = join(await mkdtemp(join(tmpdir(), 'chancery-sdk-')), 'node')
  })
  afterEach(() => rm(folder, { recursive: true, force: true }))

  it('keeps key and certificate for a later process, readable by the owner only', async () => {
    const first = await startNode(options(new FileNodeStore(folder)))
    await first.stop()
    expect((await stat(join(folder, 'node.key'))).mode & 0o777).toBe(0o600)
    expect((await stat(folder)).mode & 0o777).toBe(0o700)
    const { invite: _none, ...without } = options(new FileNodeStore(folder))
    const second = await startNode(without)
    await second.stop()
    expect(second.certificate).toEqual(first.certificate)
    expect((await readdir(folder)).filter((name) => name.endsWith('.tmp'))).toEqual([])
  })

  it('refuses a key that others can read', async () => {
    await new FileNodeStore(folder).signer()
    await chmod(join(folder, 'node.key'), 0o644)
    await expect(new FileNodeStore(folder).signer()).rejects.toThrow('0600')
  })

  it('shows no key when it is looked at', async () => {
    const store = new FileNodeStore(folder)
    const node = await startNode(options(store))
    await node.stop()
    const seed = (await import('node:fs')).readFileSync(join(folder, 'node.key'), 'utf8').split('\n').at(-2) ?? ''
    expect(seed).toHaveLength(44)
    expect(inspect([node, store, await store.signer()], { depth: 9, showHidden: true })).not.toContain(seed)
  })
})
