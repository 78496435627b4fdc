import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { accepted, send, startDemo, startTwoCompanies } from '@chancery/testkit'
import type { JsonObject } from '@chancery/protocol'
import { describe, expect, it, vi } from 'vitest'

describe('chancery demo', () => {
  it('makes a network with the same keys each time, prints that its keys are public, and stops on a signal', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'chancery-demo-'))
    try {
      const demo = await startDemo(join(folder, 'one'), 41)
      const { url } = demo
      const view = accepted(await send(url, 'GET', '/dashboard.json'))
      expect(view['nodes']).toEqual({ active: 40, tracked: 40 })
      expect(view['treaty_summary']).toMatchObject({ total: 5, active: 2, expiring_soon: 2, revoked: 1 })
      expect(view['revocation_feed_summary']).toMatchObject({ count: 2, freshness: 'fresh' })
      expect(view['boundary_policies']).toMatchObject({
        healthy: true,
        active: [{ policy_id: 'spending', version: 2 }],
      })
      expect(accepted(await send(url, 'GET', '/health'))['evidence_store']).toBe('on')
      expect(accepted(await send(url, 'GET', '/agents'))['count']).toBe(9)
      expect(demo.notes()).toContain('The demo keys are public')
      const keys = await publicKeys(url)
      expect(await demo.stop()).toBe(0)

      const again = await startDemo(join(folder, 'two'), 1)
      expect(await publicKeys(again.url)).toEqual(keys)
      expect(await again.stop()).toBe(0)
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  })
})

describe('chancery demo --two', () => {
  it('lets the agent of one company read the accounts of the other one, and stops on a signal', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'chancery-two-'))
    try {
      const demo = await startTwoCompanies(join(folder, 'two'))
      await vi.waitFor(() => expect(demo.notes()).toContain('the agent reads the accounts: 200'), {
        timeout: 60_000,
        interval: 100,
      })
      const view = accepted(await send(demo.url, 'GET', '/dashboard.json'))
      expect(view['treaty_summary']).toMatchObject({ total: 1, active: 1 })
      expect(view['partners']).toMatchObject({ count: 1 })
      // Without a proof the service responds with a refusal.
      const { port } = new URL(demo.url)
      expect((await send(`http://127.0.0.1:${Number(port) + 2}`, 'GET', '/accounts')).status).toBe(401)
      expect(await demo.stop()).toBe(0)
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }, 120_000)
})

async function publicKeys(url: string): Promise<readonly unknown[]> {
  const genesis = accepted(await send(url, 'GET', '/genesis'))
  return [(genesis['network_authority'] as JsonObject)['public_key'], genesis['root_public_key']]
}
