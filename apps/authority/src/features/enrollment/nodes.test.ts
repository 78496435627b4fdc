import { type JsonObject, seconds, writeInstant } from '@chancery/protocol'
import {
  ManualClock,
  accepted,
  enroll,
  newNodeCaller,
  refused,
  seedCertificates,
  startTestAuthority,
  testSigner,
} from '@chancery/testkit'
import type { NodeCaller, TestAuthority } from '@chancery/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { rowsOf } from '../../testing/rows.suite.ts'

const clock = new ManualClock()
let na: TestAuthority
beforeEach(async () => {
  na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
})
afterEach(() => na.stop())

const newNode = (): Promise<NodeCaller> => newNodeCaller(na.url, 'nodes', clock)

const count = async (): Promise<unknown> => accepted(await na.request('GET', '/nodes'))
const roster = async (): Promise<JsonObject> => accepted(await na.as('standard')('GET', '/nodes'))
const rosterIds = async (): Promise<string[]> => Object.keys((await roster())['nodes'] as JsonObject).sort()

describe('GET /nodes', () => {
  describe('200', () => {
    it('returns unauthenticated callers the number only', async () => {
      expect(await count()).toEqual({ count: 0 })
      await enroll(na, await newNode())
      await enroll(na, await newNode())
      expect(await count()).toEqual({ count: 2 })
    })

    it('returns a verified operator the list', async () => {
      const node = await newNode()
      const certificate = await enroll(na, node, { roles: ['role:b', 'role:a'] })
      clock.advance(10)
      expect(await roster()).toEqual({
        count: 1,
        nodes: {
          [certificate.cert_id]: {
            node_public_key: node.key,
            roles: ['role:b', 'role:a'],
            status: 'joined',
            last_heartbeat: certificate.issued_at,
            remote_addr: '127.0.0.1',
            expires_at: certificate.expires_at,
            label: null,
          },
        },
      })
      accepted(await node.heartbeat(certificate.cert_id, { status: 'fine' }, { from: '127.5.0.1' }))
      const nodes = (await roster())['nodes'] as JsonObject
      expect(nodes[certificate.cert_id]).toMatchObject({
        status: 'fine',
        last_heartbeat: writeInstant(clock.now()),
        remote_addr: '127.5.0.1',
      })
    })

    it('returns a privileged operator the same, and counts like the roster', async () => {
      await enroll(na, await newNode())
      expect(accepted(await na.as('privileged')('GET', '/nodes'))).toEqual(await roster())
    })

    it('counts a node with two certificates once, and lists both', async () => {
      const node = await newNode()
      const certificates = [await enroll(na, node), await enroll(na, node)]
      expect(await count()).toEqual({ count: 1 })
      expect((await roster())['count']).toBe(1)
      expect(await rosterIds()).toEqual(certificates.map(({ cert_id }) => cert_id).sort())
      expect((await na.request('GET', '/metrics')).text).toContain('\nchancery_active_nodes 1\n')
    })

    it('counts a certificate that an instance of the previous release issued', async () => {
      await enroll(na, await newNode())
      await enroll(na, await newNode())
      await rowsOf(na.core.database).updateTable('node_liveness').set({ node_public_key: null }).execute()
      expect(await count()).toEqual({ count: 2 })
    })

    it('leaves out a node without a heartbeat for 300 s, to the microsecond', async () => {
      const node = await newNode()
      const { cert_id } = await enroll(na, node)
      clock.set(clock.now() + seconds(300) - 1n)
      expect(await count()).toEqual({ count: 1 })
      expect(await rosterIds()).toEqual([cert_id])
      clock.set(clock.now() + 1n)
      expect(await count()).toEqual({ count: 0 })
      expect(await rosterIds()).toEqual([])
      accepted(await node.heartbeat(cert_id))
      expect(await count()).toEqual({ count: 1 })
    })

    it('leaves out revoked certificates immediately', async () => {
      const node = await newNode()
      const [gone, stored] = [await enroll(na, node), await enroll(na, node)]
      accepted(await na.as('privileged')('POST', '/admin/revoke', { cert_id: gone.cert_id, only_this: true }))
      expect(await count()).toEqual({ count: 1 })
      expect(await rosterIds()).toEqual([stored.cert_id])
    })

    it('counts a renewed node once, and lists its successor while that sends heartbeats', async () => {
      const node = await newNode()
      const old = await enroll(na, node)
      clock.advance(60)
      const renewed = String(accepted(await node.renew(old.cert_id), 201)['cert_id'])
      expect(await count()).toEqual({ count: 1 })
      expect(await rosterIds()).toEqual([renewed])
      // The response was lost, so the node continues with its old certificate.
      clock.advance(400)
      accepted(await node.heartbeat(old.cert_id))
      expect(await count()).toEqual({ count: 1 })
      expect(await rosterIds()).toEqual([old.cert_id])
      clock.set(clock.now() + seconds(500) - 1n)
      accepted(await node.heartbeat(old.cert_id))
      accepted(await node.heartbeat(renewed))
      expect(await rosterIds()).toEqual([renewed])
      clock.set(clock.now() + 1n)
      expect(await count()).toEqual({ count: 1 })
      expect(await rosterIds()).toEqual([renewed])
    })

    it('returns a roster of several pages completely', async () => {
      const { key } = await newNode()
      const seeded = await seedCertificates(na.parts, { count: 2001, node_public_key: key })
      expect(await rosterIds()).toEqual(seeded.map(({ cert_id }) => cert_id).sort())
      expect((await roster())['count']).toBe(1)
      expect(await count()).toEqual({ count: 1 })
    })
  })

  describe('401 and 403', () => {
    it('never returns the public response to invalid headers', async () => {
      const headers = { 'X-Admin-Key-Id': 'op-standard' }
      refused(await na.request('GET', '/nodes', { headers }), 401, 'admin_auth_failed')
      refused(await na.as('standard')('GET', '/nodes', undefined, { audience: 'x' }), 401, 'admin_auth_failed')
      const signer = await testSigner('op-standard', 'another name')
      refused(await na.as('standard')('GET', '/nodes', undefined, { signer }), 401, 'admin_auth_failed')
      const nonce = 'nodes-once'
      accepted(await na.as('standard')('GET', '/nodes', undefined, { nonce }))
      refused(await na.as('standard')('GET', '/nodes', undefined, { nonce }), 401, 'admin_auth_failed')
    })
  })
})
