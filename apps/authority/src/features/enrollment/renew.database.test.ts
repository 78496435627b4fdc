import {
  hours,
  readJoinCertificate,
  seconds,
  verifyJoinCertificate,
  writeInstant,
  writeSortable,
} from '@chancery/protocol'
import type { JoinCertificate, JsonObject, JsonValue } from '@chancery/protocol'
import {
  ManualClock,
  accepted,
  detailsOf,
  enroll,
  eventsOf,
  newNodeCaller,
  nodeCaller,
  refused,
  startTestAuthority,
  testSigner,
} from '@chancery/testkit'
import type { NodeCaller, TestResponse, TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const settings = { NA_CLOCK_CHECK: 'off', NA_RATE_LIMIT_RENEW_PER_KEY_PER_HOUR: '100' }
const clock = new ManualClock()
let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority({ clock, settings })
})
afterAll(() => na.stop())

const newNode = (authority: TestAuthority = na): Promise<NodeCaller> => newNodeCaller(authority.url, 'renew', clock)

const row = (cert_id: string, authority: TestAuthority = na) =>
  authority.core.database.read
    .selectFrom('issued_certs')
    .selectAll()
    .where('cert_id', '=', cert_id)
    .executeTakeFirstOrThrow()

const issued = (answer: TestResponse): JoinCertificate => readJoinCertificate(accepted(answer, 201))

describe('POST /renew', () => {
  describe('201', () => {
    it('returns a certificate of the same key and roles that verifies', async () => {
      const node = await newNode()
      const roles = ['role:service:index', 'role:anchor']
      const old = await enroll(na, node, { roles, max_validity_hours: 72 })
      clock.advance(3600)
      const certificate = issued(await node.renew(old.cert_id, { validity_hours: 48 }))
      expect(certificate.cert_id).not.toBe(old.cert_id)
      expect(certificate).toMatchObject({
        node_public_key: node.key,
        network_name: 'TEST-NET',
        roles,
        issued_at: writeInstant(clock.now()),
        expires_at: writeInstant(clock.now() + hours(48)),
        issued_by: 'na-test',
      })
      const authorityKey = na.genesis.network_authority.public_key
      const against = { network_name: 'TEST-NET', authorityKey, now: clock.now() }
      expect(await verifyJoinCertificate(certificate, against)).toEqual({ ok: true })
    })

    it('stores successor, liveness, the end of the predecessor and the audit event', async () => {
      const node = await newNode()
      const old = await enroll(na, node, { max_validity_hours: 72 })
      const answer = await node.renew(old.cert_id, {}, { from: '127.4.0.1' })
      const { cert_id } = issued(answer)
      expect(await row(cert_id)).toMatchObject({
        node_public_key: node.key,
        cert_json: answer.text,
        roles_json: '["role:client"]',
        max_validity_hours: 72,
        status: 'issued',
        renewed_from: old.cert_id,
        revoke_after: null,
      })
      const end = writeSortable(clock.now() + seconds(900))
      expect(await row(old.cert_id)).toMatchObject({ status: 'issued', revoke_after: end })
      const db = na.core.database.read
      expect(await db.selectFrom('node_liveness').selectAll().where('cert_id', '=', cert_id).execute()).toEqual([
        {
          cert_id,
          node_public_key: node.key,
          last_heartbeat: writeSortable(clock.now()),
          heartbeat_status: 'joined',
          remote_addr: '127.4.0.1',
          revoke_after: null,
          silent_since: null,
          signed_at: null,
          genesis_digest: null,
        },
      ])
      const events = await eventsOf(na, answer)
      expect(events.map((event) => event['event_type'])).toEqual(['certificate_renewed'])
      expect(detailsOf(events[0])).toEqual({
        old_cert_id: old.cert_id,
        new_cert_id: cert_id,
        node_public_key: node.key,
        remote_addr: '127.4.0.1',
        request_id: answer.headers['x-request-id'],
      })
    })

    it.each<[JsonObject, JsonObject, number]>([
      [{}, {}, 168],
      [{ max_validity_hours: 24 }, {}, 24],
      [{ max_validity_hours: 24 }, { validity_hours: 9999 }, 24],
      [{ max_validity_hours: 8760 }, { validity_hours: 2000 }, 2000],
      [{ max_validity_hours: 24 }, { validity_hours: 1 }, 1],
    ])('grants invite %j and request %j %d hours', async (invite, members, granted) => {
      const node = await newNode()
      const old = await enroll(na, node, invite, { validity_hours: 1 })
      const { expires_at } = issued(await node.renew(old.cert_id, members))
      expect(expires_at).toBe(writeInstant(clock.now() + hours(granted)))
    })

    it('applies the limit of the invite to every renewal', async () => {
      const node = await newNode()
      let { cert_id } = await enroll(na, node, { max_validity_hours: 5 })
      for (let index = 0; index < 3; index += 1) {
        clock.advance(60)
        const next = issued(await node.renew(cert_id, { validity_hours: 100 }))
        expect(next.expires_at).toBe(writeInstant(clock.now() + hours(5)))
        expect(await row(next.cert_id)).toMatchObject({ renewed_from: cert_id, max_validity_hours: 5 })
        ;({ cert_id } = next)
      }
    })

    it.each<[string, string[]]>([
      ['the same', ['role:a', 'role:b']],
      ['the same in another order', ['role:b', 'role:a']],
    ])('accepts roles that are %s, and keeps the stored order', async (_, roles) => {
      const node = await newNode()
      const old = await enroll(na, node, { roles: ['role:a', 'role:b'] })
      expect(issued(await node.renew(old.cert_id, { roles })).roles).toEqual(['role:a', 'role:b'])
    })

    it('lets predecessor and successor both work within the grace time', async () => {
      const node = await newNode()
      const old = await enroll(na, node)
      const { cert_id } = issued(await node.renew(old.cert_id))
      clock.set(clock.now() + seconds(900) - 1n)
      accepted(await node.heartbeat(old.cert_id))
      accepted(await node.heartbeat(cert_id))
    })

    it('ends the predecessor after the grace time', async () => {
      const node = await newNode()
      const old = await enroll(na, node)
      const { cert_id } = issued(await node.renew(old.cert_id))
      clock.advance(900)
      refused(await node.heartbeat(old.cert_id), 403, 'certificate_superseded')
      refused(await node.renew(old.cert_id), 403, 'certificate_superseded')
      accepted(await node.heartbeat(cert_id))
    })

    it('may be repeated for a lost response, without extending the predecessor', async () => {
      const node = await newNode()
      const old = await enroll(na, node)
      const first = issued(await node.renew(old.cert_id))
      const { revoke_after } = await row(old.cert_id)
      clock.advance(600)
      const second = issued(await node.renew(old.cert_id))
      expect(second.cert_id).not.toBe(first.cert_id)
      expect((await row(old.cert_id)).revoke_after).toBe(revoke_after)
      for (const { cert_id } of [first, second]) accepted(await node.heartbeat(cert_id))
      clock.advance(300)
      refused(await node.renew(old.cert_id), 403, 'certificate_superseded')
    })

    it('gives each of many concurrent callers a certificate, and the predecessor one end', async () => {
      const node = await newNode()
      const old = await enroll(na, node)
      const answers = await Promise.all(Array.from({ length: 10 }, () => node.renew(old.cert_id)))
      expect(new Set(answers.map((answer) => issued(answer).cert_id)).size).toBe(10)
      expect((await row(old.cert_id)).revoke_after).toBe(writeSortable(clock.now() + seconds(900)))
    })

    it('accepts exactly one of many callers that send the same signed call', async () => {
      const node = await newNode()
      const body = await node.prove({ cert_id: (await enroll(na, node)).cert_id })
      const answers = await Promise.all(Array.from({ length: 10 }, () => na.request('POST', '/renew', { body })))
      expect(answers.filter((answer) => answer.status === 201)).toHaveLength(1)
      for (const answer of answers) if (answer.status !== 201) refused(answer, 401, 'node_auth_failed')
    })
  })

  describe('400 and 403, roles', () => {
    it.each<[JsonValue, number, string]>([
      [[], 403, 'renewal_role_change_forbidden'],
      [['role:a'], 403, 'renewal_role_change_forbidden'],
      [['role:a', 'role:b', 'role:c'], 403, 'renewal_role_change_forbidden'],
      [['role:a', 'role:a', 'role:b'], 403, 'renewal_role_change_forbidden'],
      [['role:a', 'role:a'], 403, 'renewal_role_change_forbidden'],
      [['role:A', 'role:b'], 403, 'renewal_role_change_forbidden'],
      ['role:a', 400, 'invalid_role'],
      [null, 400, 'invalid_role'],
      [{}, 400, 'invalid_role'],
      [['role:a', 7], 400, 'invalid_role'],
    ])('responds to roles %j with %d %s', async (roles, status, code) => {
      const node = await newNode()
      const old = await enroll(na, node, { roles: ['role:a', 'role:b'] })
      refused(await node.renew(old.cert_id, { roles }), status, code)
      expect(await row(old.cert_id)).toMatchObject({ revoke_after: null })
    })
  })

  describe('without grace', () => {
    let strict: TestAuthority
    beforeAll(async () => {
      strict = await startTestAuthority({ clock, settings: { ...settings, RENEWAL_GRACE_SECONDS: '0' } })
    })
    afterAll(() => strict.stop())

    it('supersedes immediately', async () => {
      const node = await newNode(strict)
      const old = await enroll(strict, node)
      const { cert_id } = issued(await node.renew(old.cert_id))
      refused(await node.heartbeat(old.cert_id), 403, 'certificate_superseded')
      accepted(await node.heartbeat(cert_id))
      expect((await row(old.cert_id, strict)).revoke_after).toBe(writeSortable(clock.now()))
    })
  })

  describe('503', () => {
    it('signs nothing after the validity period of the genesis block', async () => {
      const own = new ManualClock()
      const late = await startTestAuthority({ clock: own, settings })
      try {
        const node = nodeCaller(late.url, await testSigner('node', 'renew-late'), () => own.now())
        const old = await enroll(late, node, { max_validity_hours: 8760 }, { validity_hours: 8760 })
        own.advance(90 * 86_400)
        refused(await node.renew(old.cert_id), 503, 'service_unavailable')
        // No certificate is signed, but the liveness of the node is stored.
        accepted(await node.heartbeat(old.cert_id))
      } finally {
        await late.stop()
      }
    })
  })
})
