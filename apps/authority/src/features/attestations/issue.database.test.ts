import { JsonFloat, hours, readAttestation, verifyList, writeInstant } from '@chancery/protocol'
import type { JsonObject, JsonValue } from '@chancery/protocol'
import {
  ManualClock,
  accepted,
  detailsOf,
  eventsOf,
  refused,
  startTestAuthority,
  testSigner,
  verifiesWithNodeCrypto,
} from '@chancery/testkit'
import type { OperatorOptions, TestResponse, TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const UUID4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const clock = new ManualClock('2026-01-02T03:04:05.678Z')
const settings = { NA_CLOCK_CHECK: 'off' }
const key = (await testSigner('subject')).publicKey
const REQUEST = { subject_id: 'zoë@here', roles: ['role:client'] }

let na: TestAuthority
beforeAll(async () => {
  const operators = { privileged: 'privileged', standard: 'standard', second: 'privileged' } as const
  na = await startTestAuthority({ clock, settings, operators })
})
afterAll(() => na.stop())

const issue = (body: JsonObject, options: OperatorOptions = {}, as = 'privileged'): Promise<TestResponse> =>
  na.as(as)('POST', '/admin/attestations', body, options)
const count = async (): Promise<number> => Number(accepted(await na.request('GET', '/attestations'))['count'])

describe('POST /admin/attestations', () => {
  describe('201', () => {
    it('signs, stores and audits the whole record in one transaction', async () => {
      const chosen = {
        ...REQUEST,
        roles: ['role:client', 'role:service:index'],
        validity_hours: 24,
        issuer_sovereign_id: 'TEST-NET',
        subject_public_key: key,
        claims: { capabilities: ['sp-secret.create'], limit: new JsonFloat(90), '\ue000': 1, '\u{1f600}': 2 },
      }
      const answer = await issue(chosen)
      const attestation = accepted(answer, 201)
      expect(attestation).toEqual({
        attestation_id: expect.stringMatching(UUID4),
        issuer_sovereign_id: 'TEST-NET',
        subject_id: 'zoë@here',
        subject_public_key: key,
        roles: chosen.roles,
        status: 'active',
        issued_at: '2026-01-02T03:04:05.678000Z',
        valid_from: '2026-01-02T03:04:05.678000Z',
        expires_at: '2026-01-03T03:04:05.678000Z',
        issued_by: 'na-test',
        claims: chosen.claims,
        signatures: [{ key_id: 'na-test', sig: expect.any(String) }],
      })
      expect(await verifyList(readAttestation(attestation), [na.genesis.network_authority.public_key])).toBe(true)
      const id = String(attestation['attestation_id'])
      const row = accepted(await na.request('GET', `/attestations/${id}`))
      expect(row).toEqual({ attestation, status: 'active', revoked_at: null, revocation_reason: null })
      const events = await eventsOf(na, answer)
      expect(events.map((event) => event['event_type'])).toEqual(['membership_attestation_issued'])
      // No claims and no keys: an audit event records what happened, not the content.
      expect(detailsOf(events[0])).toEqual({
        attestation_id: id,
        issuer_sovereign_id: 'TEST-NET',
        subject_id: 'zoë@here',
        roles: chosen.roles,
        key_id: 'op-privileged',
        remote_addr: '127.0.0.1',
        request_id: answer.headers['x-request-id'],
      })
    })

    it('fills in the defaults, and null means the default of key and claims', async () => {
      for (const body of [REQUEST, { ...REQUEST, subject_public_key: null, claims: null }]) {
        const answer = await issue({ ...body, subject_id: 'plain' })
        const attestation = accepted(answer, 201)
        expect(attestation).toMatchObject({ subject_public_key: null, claims: {}, status: 'active' })
        expect(attestation['expires_at']).toBe(writeInstant(clock.now() + hours(168)))
        expect(verifiesWithNodeCrypto(answer.text, na.genesis.network_authority.public_key)).toBe(true)
      }
    })

    it.each<[string, JsonObject]>([
      ['one hour', { validity_hours: 1 }],
      ['three years', { validity_hours: 26_280 }],
      ['16 roles', { roles: Array.from({ length: 16 }, (_, i) => `role:r${i}`) }],
      ['a subject of 256 characters', { subject_id: '\u{1f600}'.repeat(256) }],
      ['claims of 16384 bytes', { claims: { a: 'x'.repeat(16_384 - 8) } }],
      [
        'claims that are named like members of an object',
        { claims: JSON.parse('{"__proto__":1,"constructor":2}') as JsonObject },
      ],
    ])('accepts %s', async (_what, change) => {
      const attestation = accepted(await issue({ ...REQUEST, ...change }), 201)
      expect(attestation).toMatchObject('validity_hours' in change ? {} : change)
      expect(await verifyList(readAttestation(attestation), [na.genesis.network_authority.public_key])).toBe(true)
    })

    it('issues a second attestation for a subject', async () => {
      const ids = await Promise.all(
        Array.from({ length: 5 }, async () => accepted(await issue(REQUEST), 201)['attestation_id']),
      )
      expect(new Set(ids).size).toBe(5)
    })
  })

  describe('400', () => {
    const bad = (name: string, values: readonly JsonValue[], code: string): [string, JsonObject, string][] =>
      values.map((value) => [`${name} ${JSON.stringify(value)?.slice(0, 30)}`, { ...REQUEST, [name]: value }, code])
    it.each<[string, JsonObject, string]>([
      ['no subject', { roles: REQUEST.roles }, 'missing_attestation_subject'],
      ...bad('subject_id', ['', null, 7, [], {}, 'x'.repeat(257), 'a\nb', '\u0000'], 'missing_attestation_subject'),
      ['no roles', { subject_id: 'x' }, 'missing_attestation_subject'],
      ...bad('roles', [[], null, 'role:client', {}, 7], 'missing_attestation_subject'),
      ...bad(
        'roles',
        [
          ['client'],
          ['role:'],
          ['role:client', 'role:client'],
          [7],
          [null],
          ['role:a b'],
          Array.from({ length: 17 }, (_, i) => `role:r${i}`),
        ],
        'invalid_role',
      ),
      ...bad('validity_hours', [0, -1, 26_281, '168', true, null, 1.5, []], 'invalid_validity_hours'),
      ['validity_hours 168.0', { ...REQUEST, validity_hours: new JsonFloat(168) }, 'invalid_validity_hours'],
      ...bad('issuer_sovereign_id', ['OTHER-NET', 'test-net', '', null, 7], 'attestation_issuer_mismatch'),
      ...bad(
        'subject_public_key',
        ['', 'x', 7, [], `${key}=`, key.slice(0, -1), Buffer.alloc(32).toString('base64')],
        'invalid_public_key',
      ),
      ...bad('claims', [[], 'x', 7, true, { a: 'x'.repeat(16_384) }], 'invalid_input'),
      [
        'deep claims',
        { ...REQUEST, claims: JSON.parse('{"a":'.repeat(17) + '1' + '}'.repeat(17)) as JsonObject },
        'invalid_input',
      ],
    ])('%s', async (_what, body, code) => {
      const before = await count()
      const answer = await issue(body)
      refused(answer, 400, code)
      expect(await count()).toBe(before)
      expect(await eventsOf(na, answer)).toEqual([])
    })

    it('names every unknown member, before any other problem', async () => {
      const error = refused(await issue({ validityHours: 1, role: 'x' }), 400, 'unexpected_field')
      expect(error['details']).toEqual({ fields: ['validityHours', 'role'] })
    })

    it('names the first failure of the table when there are two', async () => {
      const failures: readonly [string, JsonObject][] = [
        ['missing_attestation_subject', { subject_id: '' }],
        ['invalid_role', { roles: ['x'] }],
        ['invalid_validity_hours', { validity_hours: 0 }],
        ['attestation_issuer_mismatch', { issuer_sovereign_id: 'OTHER' }],
        ['invalid_public_key', { subject_public_key: 'x' }],
        ['invalid_input', { claims: [] }],
      ]
      for (const [i, [code, first]] of failures.entries())
        for (const [, second] of failures.slice(i + 1))
          refused(await issue({ ...REQUEST, ...second, ...first }), 400, code)
    })

    it('refuses a key that is not of prime order, because two signers could own it', async () => {
      // The base point plus the point of order 2.
      const subject_public_key = Buffer.alloc(32, 0x99).fill(0x95, 0, 1).toString('base64')
      refused(await issue({ ...REQUEST, subject_public_key }), 400, 'invalid_public_key')
    })
  })

  describe('401 and 403', () => {
    it('is for privileged operators', async () => {
      const before = await count()
      refused(await na.request('POST', '/admin/attestations', { body: REQUEST }), 401, 'admin_auth_failed')
      refused(await issue(REQUEST, {}, 'standard'), 403, 'insufficient_operator_tier')
      expect(await count()).toBe(before)
    })
  })

  describe('NA_ALLOWED_ROLES', () => {
    it('limits what may be granted', async () => {
      const own = await startTestAuthority({ settings: { NA_ALLOWED_ROLES: 'role:client,role:service:*' } })
      try {
        const grant = (roles: string[]): Promise<TestResponse> =>
          own.as('privileged')('POST', '/admin/attestations', { subject_id: 'x', roles })
        accepted(await grant(['role:client', 'role:service:index']), 201)
        refused(await grant(['role:client', 'role:anchor']), 400, 'invalid_role')
        refused(await grant(['role:service']), 400, 'invalid_role')
      } finally {
        await own.stop()
      }
    })
  })

  describe('with Idempotency-Key', () => {
    const once = (body: JsonObject, idempotencyKey: string, as = 'privileged'): Promise<TestResponse> =>
      issue(body, { headers: { 'Idempotency-Key': idempotencyKey } }, as)

    it('issues once and returns the same response again, byte for byte', async () => {
      const before = await count()
      const first = await once(REQUEST, 'a-1')
      clock.advance(10)
      const again = await once({ roles: REQUEST.roles, subject_id: REQUEST.subject_id }, 'a-1')
      expect([again.status, again.text]).toEqual([201, first.text])
      expect(await count()).toBe(before + 1)
      expect(await eventsOf(na, again)).toEqual([])
    })

    it('refuses another body under the same key', async () => {
      accepted(await once(REQUEST, 'a-2'), 201)
      const before = await count()
      refused(await once({ ...REQUEST, validity_hours: 1 }, 'a-2'), 409, 'conflict')
      expect(await count()).toBe(before)
    })

    it('separates keys of different operators', async () => {
      const first = accepted(await once(REQUEST, 'a-3'), 201)
      expect(accepted(await once(REQUEST, 'a-3', 'second'), 201)['attestation_id']).not.toBe(first['attestation_id'])
    })

    it('does not store a refused call', async () => {
      refused(await once({ ...REQUEST, roles: [] }, 'a-4'), 400, 'missing_attestation_subject')
      accepted(await once(REQUEST, 'a-4'), 201)
    })

    it('issues once when many callers send the same call at once', async () => {
      const before = await count()
      const answers = await Promise.all(
        Array.from({ length: 8 }, () => once({ ...REQUEST, subject_id: 'many' }, 'a-5')),
      )
      const served = answers.filter((answer) => answer.status === 201)
      expect(new Set(served.map((answer) => answer.text)).size).toBe(1)
      for (const answer of answers) if (answer.status !== 201) refused(answer, 409, 'conflict')
      expect(await count()).toBe(before + 1)
    })

    it.each(['', 'a b', 'a'.repeat(129)])('refuses the malformed key %j', async (idempotencyKey) => {
      refused(await once(REQUEST, idempotencyKey), 400, 'bad_request')
    })
  })

  describe('503', () => {
    it('signs nothing after the validity period of the genesis block', async () => {
      const own = new ManualClock()
      const late = await startTestAuthority({ clock: own, settings })
      try {
        own.advance(90 * 86_400)
        refused(await late.as('privileged')('POST', '/admin/attestations', REQUEST), 503, 'service_unavailable')
        expect(accepted(await late.request('GET', '/attestations'))['count']).toBe(0)
        expect(await late.auditEvents('membership_attestation_issued')).toEqual([])
      } finally {
        await late.stop()
      }
    })
  })
})
