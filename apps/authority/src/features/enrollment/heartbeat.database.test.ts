import { writeInstant, writeSortable } from '@chancery/protocol'
import { ManualClock, accepted, enroll, eventsOf, newNodeCaller, refused, startTestAuthority } from '@chancery/testkit'
import type { NodeCaller, TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const clock = new ManualClock()
let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off', NA_HEARTBEAT_SECONDS: '100' } })
})
afterAll(() => na.stop())

const newNode = (): Promise<NodeCaller> => newNodeCaller(na.url, 'heartbeat', clock)

const liveness = (cert_id: string) =>
  na.core.database.read.selectFrom('node_liveness').selectAll().where('cert_id', '=', cert_id).executeTakeFirst()

describe('POST /heartbeat', () => {
  describe('200', () => {
    it('returns the time, the heartbeat interval and the current list versions', async () => {
      const node = await newNode()
      const { cert_id } = await enroll(na, node)
      const answer = accepted(await node.heartbeat(cert_id))
      expect(answer).toEqual({
        ack: true,
        server_time: writeInstant(clock.now()),
        next_heartbeat_seconds: expect.any(Number),
        crl_sequence: expect.any(Number),
        policy_id: null,
      })
    })

    it('varies the interval by a tenth at most', async () => {
      const node = await newNode()
      const { cert_id } = await enroll(na, node)
      const paces = new Set<number>()
      for (let index = 0; index < 40; index += 1)
        paces.add(Number(accepted(await node.heartbeat(cert_id))['next_heartbeat_seconds']))
      expect(Math.min(...paces)).toBeGreaterThanOrEqual(90)
      expect(Math.max(...paces)).toBeLessThanOrEqual(110)
      expect(paces.size).toBeGreaterThan(1)
    })

    it('stores the time, the status and the address', async () => {
      const node = await newNode()
      const { cert_id } = await enroll(na, node)
      clock.advance(30)
      accepted(await node.heartbeat(cert_id, { status: 'gesund 😀' }, { from: '127.3.0.1' }))
      expect(await liveness(cert_id)).toMatchObject({
        last_heartbeat: writeSortable(clock.now()),
        heartbeat_status: 'gesund 😀',
        remote_addr: '127.3.0.1',
      })
    })

    it('stores an absent status as unknown, and accepts a status of 64 characters', async () => {
      const node = await newNode()
      const { cert_id } = await enroll(na, node)
      accepted(await node.heartbeat(cert_id))
      expect(await liveness(cert_id)).toMatchObject({ heartbeat_status: 'unknown' })
      accepted(await node.heartbeat(cert_id, { status: '😀'.repeat(64) }))
    })

    it('is not audited', async () => {
      const node = await newNode()
      const { cert_id } = await enroll(na, node)
      const answer = await node.heartbeat(cert_id)
      accepted(answer)
      expect(await eventsOf(na, answer)).toEqual([])
    })

    it('reports a new list and a new policy immediately', async () => {
      const node = await newNode()
      const [{ cert_id }, gone] = [await enroll(na, node), await enroll(na, await newNode())]
      const revoked = accepted(await na.as('privileged')('POST', '/admin/revoke', { cert_id: gone.cert_id }))
      expect(accepted(await node.heartbeat(cert_id))['crl_sequence']).toBe(revoked['crl_sequence'])
      for (const policy_id of ['p-1', 'p-2']) {
        accepted(await na.as('privileged')('POST', '/admin/policy', { policy_id }), 201)
        expect(accepted(await node.heartbeat(cert_id))['policy_id']).toBe(policy_id)
      }
      accepted(await na.as('privileged')('POST', '/admin/policy/rollback', { policy_id: 'p-1' }))
      expect(accepted(await node.heartbeat(cert_id))['policy_id']).toBe('p-1')
    })

    it('returns each of many concurrent callers its own response', async () => {
      const nodes = await Promise.all(Array.from({ length: 30 }, () => newNode()))
      const certificates = await Promise.all(nodes.map((node) => enroll(na, node)))
      const answers = await Promise.all(
        nodes.map((node, index) => {
          const own = certificates[index]?.cert_id ?? ''
          const foreign = certificates[(index + 1) % nodes.length]?.cert_id ?? ''
          return node.heartbeat(index % 3 === 0 ? foreign : own, { status: `s-${index}` })
        }),
      )
      for (const [index, answer] of answers.entries()) {
        if (index % 3 === 0) refused(answer, 403, 'certificate_key_mismatch')
        else accepted(answer)
        const expected = index % 3 === 0 ? 'joined' : `s-${index}`
        expect(await liveness(certificates[index]?.cert_id ?? '')).toMatchObject({ heartbeat_status: expected })
      }
    })

    it('accepts exactly one of many callers that send the same signed call', async () => {
      const node = await newNode()
      const body = await node.prove({ cert_id: (await enroll(na, node)).cert_id })
      const answers = await Promise.all(Array.from({ length: 20 }, () => na.request('POST', '/heartbeat', { body })))
      expect(answers.filter((answer) => answer.status === 200)).toHaveLength(1)
      for (const answer of answers) if (answer.status !== 200) refused(answer, 401, 'node_auth_failed')
    })
  })
})
