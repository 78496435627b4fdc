import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type DemoProcess, accepted, send, startDemo, startDemoWith, startTwoCompanies } from '@chancery/testkit'
import type { JsonObject } from '@chancery/protocol'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'chancery-demo-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

describe('chancery demo --static', () => {
  it('makes a network, continues with it at the second start, and makes a new one of the same keys with --reset', async () => {
    const home = join(folder, 'demo')
    const demo = await startDemo(home, 41)
    const { url } = demo
    const view = await viewOf(demo)
    expect(view['nodes']).toEqual({ active: 40, tracked: 40 })
    expect(view['treaty_summary']).toMatchObject({ total: 5, active: 3, expiring_soon: 1, revoked: 1 })
    expect(view['revocation_feed_summary']).toMatchObject({ count: 4, freshness: 'fresh' })
    expect(view['boundary_policies']).toMatchObject({
      healthy: true,
      active: [{ policy_id: 'spending', version: 2 }],
    })
    expect(accepted(await send(url, 'GET', '/health'))['evidence_store']).toBe('on')
    expect(accepted(await send(url, 'GET', '/agents'))['count']).toBe(9)
    expect(demo.notes()).toContain('The demo keys are public')
    const [genesis, treaty] = [await textOf(demo, '/genesis'), await treatyOf(demo)]
    expect(await demo.stop()).toBe(0)

    const second = await startDemoWith(home, ['--static'], demo)
    expect([await textOf(second, '/genesis'), await treatyOf(second)]).toEqual([genesis, treaty])
    expect((await viewOf(second))['certificates']).toMatchObject({ issued: 41 })
    await expect(startDemoWith(home, ['--reset'])).rejects.toThrow('is running already')
    const keys = await publicKeys(url)
    expect(await second.stop()).toBe(0)

    const third = await startDemoWith(home, ['--static', '--nodes', '1', '--reset'])
    expect(await treatyOf(third)).not.toBe(treaty)
    expect((await viewOf(third))['certificates']).toMatchObject({ issued: 1 })
    expect(await publicKeys(third.url)).toEqual(keys)
    expect(await third.stop()).toBe(0)
  })
})

describe('chancery demo --gateway', () => {
  it('has past activity and no warning but the treaty that ends, and its two printed calls are refused and allowed', async () => {
    const demo = await startDemoWith(join(folder, 'demo'), ['--nodes', '3', '--gateway'])
    const view = await viewOf(demo)
    expect(view['nodes']).toEqual({ active: 3, tracked: 3 })
    expect(view['warnings']).toEqual(['1 treaty is expired or ends within 72 hours: renew or replace it.'])
    const { active } = view['activity'] as { active: readonly (number | null)[] }
    expect(active.filter((count) => count !== null).length).toBeGreaterThan(140)
    const { node } = view['decisions'] as { node: { authorized: number; denied: number } }
    expect([node.authorized, node.denied].map((count) => count > 0)).toEqual([true, true])

    const calls = demo
      .notes()
      .split('\n')
      .flatMap((line) => /^note: {3}(curl .*)$/.exec(line)?.[1] ?? [])
    expect(calls).toHaveLength(2)
    const first = await Promise.all(calls.map(runShell))
    expect(first.map((text) => text.split('\r\n')[0])).toEqual(['HTTP/1.1 403 Forbidden', 'HTTP/1.1 200 OK'])
    // A proof serves once, so the files must have new ones.
    const again = await Promise.all(calls.map(runShell))
    expect(again.map((text) => text.split('\r\n')[0])).toEqual(['HTTP/1.1 403 Forbidden', 'HTTP/1.1 200 OK'])
    expect(await demo.stop()).toBe(0)
  })
})

describe('chancery demo --two', () => {
  it('lets the agent of one company read the accounts of the other one, and continues at the second start', async () => {
    const home = join(folder, 'two')
    const demo = await startTwoCompanies(home)
    await readsAccounts(demo)
    const view = await viewOf(demo)
    expect(view['treaty_summary']).toMatchObject({ total: 1, active: 1 })
    expect(view['partners']).toMatchObject({ count: 1 })
    expect(view['warnings']).toEqual([])
    // Without a proof the service responds with a refusal.
    const { port } = new URL(demo.url)
    expect((await send(`http://127.0.0.1:${Number(port) + 2}`, 'GET', '/accounts')).status).toBe(401)
    expect(await demo.stop()).toBe(0)

    const again = await startDemoWith(home, ['--two'], demo)
    await readsAccounts(again)
    expect((await viewOf(again))['treaty_summary']).toMatchObject({ total: 1, active: 1 })
    expect(await again.stop()).toBe(0)
  }, 120_000)
})

async function readsAccounts(demo: DemoProcess): Promise<void> {
  await vi.waitFor(() => expect(demo.notes()).toContain('the agent reads the accounts: 200'), {
    timeout: 60_000,
    interval: 100,
  })
}

async function viewOf({ url }: DemoProcess): Promise<JsonObject> {
  return accepted(await send(url, 'GET', '/dashboard.json'))
}

async function textOf({ url }: DemoProcess, path: string): Promise<string> {
  return (await fetch(`${url}${path}`)).text()
}

async function treatyOf(demo: DemoProcess): Promise<unknown> {
  const [first] = (await viewOf(demo))['treaties'] as readonly JsonObject[]
  return first?.['treaty_id']
}

async function runShell(line: string): Promise<string> {
  return (await promisify(execFile)('sh', ['-c', line.replace('curl', 'curl -s')])).stdout
}

async function publicKeys(url: string): Promise<readonly unknown[]> {
  const genesis = accepted(await send(url, 'GET', '/genesis'))
  return [(genesis['network_authority'] as JsonObject)['public_key'], genesis['root_public_key']]
}
