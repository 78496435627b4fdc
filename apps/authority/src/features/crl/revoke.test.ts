import { REVOCATION_REASONS, writeInstant, writeSortable } from '@chancery/protocol'
import type { Crl, JsonObject, JsonValue } from '@chancery/protocol'
import {
  ManualClock,
  accepted,
  detailsOf,
  enroll,
  entryOf,
  eventsOf,
  fetchCrl,
  newNodeCaller,
  nodeCaller,
  refused,
  startTestAuthority,
  testSigner,
} from '@chancery/testkit'
import type { NodeCaller, TestResponse, TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const clock = new ManualClock()
const settings = { NA_CLOCK_CHECK: 'off' }
let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority({ clock, settings })
})
afterAll(() => na.stop())

const newNode = (): Promise<NodeCaller> => newNodeCaller(na.url, 'revoke', clock)
const newCertificate = async (): Promise<string> => (await enroll(na, await newNode())).cert_id

const revoke = (body: JsonObject): Promise<TestResponse> => na.as('privileged')('POST', '/admin/revoke', body)
const list = (): Promise<Crl> => fetchCrl(na.url, na.genesis.network_authority.public_key)
const row = (cert_id: string) =>
  na.core.database.read.selectFrom('issued_certs').selectAll().where('cert_id', '=', cert_id).executeTakeFirstOrThrow()

describe('POST /admin/revoke', () => {
  describe('200', () => {
    it('marks, lists, counts and audits in one transaction', async () => {
      const cert_id = await newCertificate()
      const before = await list()
      const answer = await revoke({ cert_id, reason: 'cessation_of_operation' })
      const crl = await list()
      expect(accepted(answer)).toEqual({
        crl_sequence: before.sequence + 1,
        revoked_count: before.revoked_certificates.length + 1,
      })
      expect(crl.sequence).toBe(before.sequence + 1)
      expect(crl.crl_id).not.toBe(before.crl_id)
      expect(crl.issuer).toBe('na-test')
      expect(crl.revoked_certificates).toEqual([
        ...before.revoked_certificates,
        {
          certificate_id: cert_id,
          revoked_at: writeInstant(clock.now()),
          reason: 'cessation_of_operation',
          issuer: 'na-test',
        },
      ])
      expect(await row(cert_id)).toMatchObject({
        status: 'revoked',
        revoked_at: writeSortable(clock.now()),
        revocation_reason: 'cessation_of_operation',
      })
      const events = await eventsOf(na, answer)
      expect(events.map((event) => event['event_type'])).toEqual(['certificate_revoked'])
      expect(detailsOf(events[0])).toEqual({
        cert_id,
        reason: 'cessation_of_operation',
        crl_sequence: crl.sequence,
        key_id: 'op-privileged',
        remote_addr: '127.0.0.1',
        request_id: answer.headers['x-request-id'],
      })
      const published = (await na.auditEvents('crl_published')).map(detailsOf)
      const own = published.find((details) => details['sequence'] === crl.sequence)
      expect(own).toMatchObject({ cause: 'revoke', entries: crl.revoked_certificates.length })
    })

    it.each(REVOCATION_REASONS)('accepts the reason %s', async (reason) => {
      const cert_id = await newCertificate()
      accepted(await revoke({ cert_id, reason }))
      expect(entryOf(await list(), cert_id)?.reason).toBe(reason)
    })

    it('uses the reason unspecified when none is given', async () => {
      const cert_id = await newCertificate()
      accepted(await revoke({ cert_id }))
      expect(entryOf(await list(), cert_id)?.reason).toBe('unspecified')
    })

    it('applies from the next call of the node', async () => {
      const node = await newNode()
      const { cert_id } = await enroll(na, node)
      accepted(await node.heartbeat(cert_id))
      accepted(await revoke({ cert_id }))
      refused(await node.heartbeat(cert_id), 403, 'certificate_revoked')
      refused(await node.renew(cert_id), 403, 'certificate_revoked')
    })

    it('repeated, changes nothing and audits nothing', async () => {
      const cert_id = await newCertificate()
      const first = accepted(await revoke({ cert_id, reason: 'unspecified' }))
      clock.advance(10)
      for (const reason of ['unspecified', 'superseded', 'cessation_of_operation']) {
        const again = await revoke({ cert_id, reason })
        expect(accepted(again)).toEqual(first)
        expect(await eventsOf(na, again)).toEqual([])
      }
      expect((await list()).sequence).toBe(first['crl_sequence'])
      expect(await row(cert_id)).toMatchObject({ revocation_reason: 'unspecified' })
    })

    it('revokes an expired certificate, too', async () => {
      const cert_id = (await enroll(na, await newNode(), { max_validity_hours: 1 })).cert_id
      clock.advance(3600)
      accepted(await revoke({ cert_id }))
      expect(entryOf(await list(), cert_id)).toBeDefined()
    })
  })

  describe('400', () => {
    it.each<[JsonObject, string]>([
      [{}, 'missing_cert_id'],
      [{ cert_id: '' }, 'missing_cert_id'],
      [{ cert_id: null }, 'missing_cert_id'],
      [{ cert_id: 7 }, 'missing_cert_id'],
      [{ cert_id: [] }, 'missing_cert_id'],
      ...['', 'KEY_COMPROMISE', 'compromised', 7, null, []].map((reason: JsonValue): [JsonObject, string] => [
        { cert_id: 'x', reason },
        'invalid_revocation_reason',
      ]),
      // Two failures: the order of the table decides.
      [{ reason: 'nonsense' }, 'missing_cert_id'],
      [{ cert_id: 'unknown', reason: 'nonsense' }, 'invalid_revocation_reason'],
    ])('refuses %j with %s', async (body, code) => {
      const before = await list()
      const answer = await revoke(body)
      refused(answer, 400, code)
      expect(await list()).toEqual(before)
      expect(await eventsOf(na, answer)).toEqual([])
    })

    it('names every unknown member', async () => {
      const error = refused(await revoke({ cert_id: 'x', cause: 'y' }), 400, 'unexpected_field')
      expect(error['details']).toEqual({ fields: ['cause'] })
    })
  })

  describe('401 and 403', () => {
    it('is for privileged operators', async () => {
      const cert_id = await newCertificate()
      refused(await na.request('POST', '/admin/revoke', { body: { cert_id } }), 401, 'admin_auth_failed')
      const standard = await na.as('standard')('POST', '/admin/revoke', { cert_id })
      refused(standard, 403, 'insufficient_operator_tier')
      // Authorisation is checked before existence.
      refused(await na.as('standard')('POST', '/admin/revoke', { cert_id: 'x' }), 403, 'insufficient_operator_tier')
      expect(await row(cert_id)).toMatchObject({ status: 'issued' })
    })
  })

  describe('404', () => {
    it.each(['unknown', '00000000-0000-4000-8000-000000000000', 'a'.repeat(129), 'line\nbreak', 'nul\u0000'])(
      'refuses the certificate %j',
      async (cert_id) => {
        const before = await list()
        const answer = await revoke({ cert_id })
        expect(refused(answer, 404, 'certificate_not_found')['details']).toEqual({})
        expect(await list()).toEqual(before)
        expect(await eventsOf(na, answer)).toEqual([])
      },
    )
  })

  describe('503', () => {
    it('revokes nothing after the validity period of the genesis block; the last list is still served', async () => {
      const own = new ManualClock()
      const late = await startTestAuthority({ clock: own, settings })
      try {
        const node = nodeCaller(late.url, await testSigner('node', 'revoke-late'), () => own.now())
        const { cert_id } = await enroll(late, node, { max_validity_hours: 8760 }, { validity_hours: 8760 })
        const before = accepted(await late.request('GET', '/crl'))
        own.advance(90 * 86_400)
        const answer = await late.as('privileged')('POST', '/admin/revoke', { cert_id })
        refused(answer, 503, 'service_unavailable')
        expect(accepted(await late.request('GET', '/crl'))).toEqual(before)
        accepted(await node.heartbeat(cert_id))
      } finally {
        await late.stop()
      }
    })
  })
})
