import { JsonFloat, hours, readRecognitionTreaty, verifyList, writeInstant } from '@chancery/protocol'
import type { JsonObject, JsonValue } from '@chancery/protocol'
import {
  ManualClock,
  accepted,
  detailsOf,
  eventsOf,
  foreignSovereign,
  refused,
  startTestAuthority,
  verifiesWithNodeCrypto,
} from '@chancery/testkit'
import type { OperatorOptions, TestResponse, TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const UUID4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const clock = new ManualClock('2026-01-02T03:04:05.678Z')
const settings = { NA_CLOCK_CHECK: 'off' }
const [key, otherKey] = [foreignSovereign('PARTNER-NET').publicKey, foreignSovereign('OTHER').publicKey]
const REQUEST = { subject_sovereign_id: 'PARTNER-NET', subject_public_keys: [key] }

let na: TestAuthority
beforeAll(async () => {
  const operators = { privileged: 'privileged', standard: 'standard', second: 'privileged' } as const
  na = await startTestAuthority({ clock, settings, operators })
})
afterAll(() => na.stop())

const issue = (body: JsonObject, options: OperatorOptions = {}, as = 'privileged'): Promise<TestResponse> =>
  na.as(as)('POST', '/admin/recognition-treaties', body, options)
const count = async (): Promise<number> => Number(accepted(await na.request('GET', '/recognition-treaties'))['count'])

describe('POST /admin/recognition-treaties', () => {
  describe('201', () => {
    it('signs, stores and audits the whole record in one transaction', async () => {
      const chosen = {
        subject_sovereign_id: 'Partnër 😀',
        subject_public_keys: [key, otherKey],
        scope: {
          allowed_roles: ['role:client'],
          accepted_statuses: ['active', 'suspended'],
          claims: { tier: new JsonFloat(1) },
        },
        validity_hours: 48,
        issuer_sovereign_id: 'TEST-NET',
        metadata: { note: 'Zoë', '\u{1f600}': 2, '\ue000': 1 },
      }
      const answer = await issue(chosen)
      const treaty = accepted(answer, 201)
      const { validity_hours: _hours, ...signed } = chosen
      expect(treaty).toEqual({
        ...signed,
        treaty_id: expect.stringMatching(UUID4),
        status: 'active',
        issued_at: '2026-01-02T03:04:05.678000Z',
        valid_from: '2026-01-02T03:04:05.678000Z',
        expires_at: '2026-01-04T03:04:05.678000Z',
        issued_by: 'na-test',
        signatures: [{ key_id: 'na-test', sig: expect.any(String) }],
      })
      expect(await verifyList(readRecognitionTreaty(treaty), [na.genesis.network_authority.public_key])).toBe(true)
      const treaty_id = String(treaty['treaty_id'])
      expect(accepted(await na.request('GET', `/recognition-treaties/${treaty_id}`))).toEqual({
        treaty,
        status: 'active',
        revoked_at: null,
        revocation_reason: null,
        lifecycle: {
          state: 'expiring_soon',
          expiry_risk: 'medium',
          seconds_until_expiry: 172_800,
          expires_at: '2026-01-04T03:04:05.678000Z',
          revoked_at: null,
          revocation_reason: null,
          replacement_treaty_id: null,
        },
      })
      const events = await eventsOf(na, answer)
      expect(events.map((event) => event['event_type'])).toEqual(['recognition_treaty_issued'])
      expect(detailsOf(events[0])).toEqual({
        treaty_id,
        issuer_sovereign_id: 'TEST-NET',
        subject_sovereign_id: 'Partnër 😀',
        allowed_roles: ['role:client'],
        key_id: 'op-privileged',
        remote_addr: '127.0.0.1',
        request_id: answer.headers['x-request-id'],
      })
    })

    it('fills in the defaults; null means the default of scope and metadata', async () => {
      for (const body of [REQUEST, { ...REQUEST, scope: null, metadata: null }, { ...REQUEST, scope: {} }]) {
        const answer = await issue(body)
        expect(accepted(answer, 201)).toMatchObject({
          scope: { allowed_roles: [], accepted_statuses: ['active'], claims: {} },
          metadata: {},
          expires_at: writeInstant(clock.now() + hours(168)),
        })
        expect(verifiesWithNodeCrypto(answer.text, na.genesis.network_authority.public_key)).toBe(true)
      }
    })

    it.each<[string, JsonObject]>([
      ['one hour', { validity_hours: 1 }],
      ['three years', { validity_hours: 26_280 }],
      ['16 roles', { scope: { allowed_roles: Array.from({ length: 16 }, (_, i) => `role:r${i}`) } }],
      ['no status', { scope: { accepted_statuses: [] } }],
      ['a subject of 128 characters', { subject_sovereign_id: '\u{1f600}'.repeat(128) }],
      ['metadata of 16384 bytes', { metadata: { a: 'x'.repeat(16_376) } }],
      ['16 keys', { subject_public_keys: Array.from({ length: 16 }, (_, i) => foreignSovereign(`K${i}`).publicKey) }],
    ])('accepts %s', async (_what, change) => {
      accepted(await issue({ ...REQUEST, ...change }), 201)
    })

    it('accepts several treaties for one sovereign', async () => {
      const ids = await Promise.all(
        Array.from({ length: 4 }, async () => accepted(await issue(REQUEST), 201)['treaty_id']),
      )
      expect(new Set(ids).size).toBe(4)
    })
  })

  describe('400 and 422', () => {
    const bad = (
      name: string,
      values: readonly JsonValue[],
      status: number,
      code: string,
    ): [string, JsonObject, number, string][] =>
      values.map((value) => [
        `${name} ${JSON.stringify(value)?.slice(0, 40)}`,
        { ...REQUEST, [name]: value },
        status,
        code,
      ])
    it.each<[string, JsonObject, number, string]>([
      ['no subject', { subject_public_keys: [key] }, 400, 'missing_treaty_subject'],
      ...bad('subject_sovereign_id', ['', null, 7, [], 'x'.repeat(129), 'a\nb'], 400, 'missing_treaty_subject'),
      ['no keys', { subject_sovereign_id: 'X' }, 400, 'missing_treaty_subject'],
      ...bad('subject_public_keys', [null, 'x', {}, 7, key], 400, 'missing_treaty_subject'),
      ...bad('subject_public_keys', [[]], 400, 'empty_subject_public_keys'),
      ...bad(
        'subject_public_keys',
        [['x'], [key, key], [key, null], [7], [key.slice(1)], [Buffer.alloc(32).toString('base64')]],
        400,
        'invalid_public_keys',
      ),
      [
        '17 keys',
        { ...REQUEST, subject_public_keys: Array.from({ length: 17 }, (_, i) => foreignSovereign(`K${i}`).publicKey) },
        400,
        'invalid_public_keys',
      ],
      [
        'a key that is not of prime order',
        { ...REQUEST, subject_public_keys: [Buffer.alloc(32, 0x99).fill(0x95, 0, 1).toString('base64')] },
        400,
        'invalid_public_keys',
      ],
      ...bad(
        'scope',
        [
          [],
          'x',
          7,
          true,
          { roles: [] },
          { allowed_roles: 'x' },
          { allowed_roles: null },
          { accepted_statuses: ['expired'] },
          { accepted_statuses: null },
          { claims: [] },
          { claims: { a: 'x'.repeat(16_384) } },
          { claims: { delegation: null } },
          { claims: { delegation: { depth: 1 } } },
        ],
        422,
        'invalid_treaty_scope',
      ),
      ...bad(
        'scope',
        [
          { allowed_roles: ['client'] },
          { allowed_roles: ['role:a', 'role:a'] },
          { allowed_roles: Array.from({ length: 17 }, (_, i) => `role:r${i}`) },
        ],
        400,
        'invalid_role',
      ),
      ...bad('validity_hours', [0, -1, 26_281, '168', null, true, 1.5], 400, 'invalid_validity_hours'),
      ['validity_hours 168.0', { ...REQUEST, validity_hours: new JsonFloat(168) }, 400, 'invalid_validity_hours'],
      ...bad('issuer_sovereign_id', ['OTHER-NET', '', null, 7], 400, 'wrong_issuer'),
      ...bad('metadata', [[], 'x', 7, { a: 'x'.repeat(16_384) }], 400, 'invalid_input'),
      ['oneself', { ...REQUEST, subject_sovereign_id: 'TEST-NET' }, 422, 'invalid_recognition_treaty'],
    ])('%s', async (_what, body, status, code) => {
      const before = await count()
      const answer = await issue(body)
      refused(answer, status, code)
      expect(await count()).toBe(before)
      expect(await eventsOf(na, answer)).toEqual([])
    })

    it('names the first failure of the table when there are two', async () => {
      const failures: readonly [number, string, JsonObject][] = [
        [400, 'missing_treaty_subject', { subject_sovereign_id: '' }],
        [400, 'empty_subject_public_keys', { subject_public_keys: [] }],
        [422, 'invalid_treaty_scope', { scope: [] }],
        [400, 'invalid_validity_hours', { validity_hours: 0 }],
        [400, 'wrong_issuer', { issuer_sovereign_id: 'OTHER' }],
        [400, 'invalid_input', { metadata: [] }],
      ]
      for (const [i, [status, code, first]] of failures.entries())
        for (const [, , second] of failures.slice(i + 1))
          refused(await issue({ ...REQUEST, ...second, ...first }), status, code)
      refused(await issue({ ...REQUEST, subject_sovereign_id: 'TEST-NET', metadata: [] }), 400, 'invalid_input')
    })

    it('names every unknown member', async () => {
      const error = refused(await issue({ ...REQUEST, status: 'active', treaty_id: 'x' }), 400, 'unexpected_field')
      expect(error['details']).toEqual({ fields: ['status', 'treaty_id'] })
    })
  })

  describe('401 and 403', () => {
    it('is for privileged operators', async () => {
      refused(await na.request('POST', '/admin/recognition-treaties', { body: REQUEST }), 401, 'admin_auth_failed')
      refused(await issue(REQUEST, {}, 'standard'), 403, 'insufficient_operator_tier')
    })
  })

  describe('with Idempotency-Key', () => {
    const once = (body: JsonObject, idempotencyKey: string, as = 'privileged'): Promise<TestResponse> =>
      issue(body, { headers: { 'Idempotency-Key': idempotencyKey } }, as)

    it('issues once and returns the same response again, byte for byte', async () => {
      const before = await count()
      const first = await once(REQUEST, 't-1')
      clock.advance(10)
      const again = await once(REQUEST, 't-1')
      expect([again.status, again.text]).toEqual([201, first.text])
      expect(await count()).toBe(before + 1)
      expect(await eventsOf(na, again)).toEqual([])
    })

    it('refuses another body, separates keys of different operators and does not store refused calls', async () => {
      accepted(await once(REQUEST, 't-2'), 201)
      refused(await once({ ...REQUEST, validity_hours: 1 }, 't-2'), 409, 'conflict')
      accepted(await once(REQUEST, 't-2', 'second'), 201)
      refused(await once({ ...REQUEST, subject_public_keys: [] }, 't-3'), 400, 'empty_subject_public_keys')
      accepted(await once(REQUEST, 't-3'), 201)
    })

    it('issues once when many callers send the same call at once', async () => {
      const before = await count()
      const answers = await Promise.all(Array.from({ length: 8 }, () => once(REQUEST, 't-4')))
      const served = answers.filter((answer) => answer.status === 201)
      expect(new Set(served.map((answer) => answer.text)).size).toBe(1)
      for (const answer of answers) if (answer.status !== 201) refused(answer, 409, 'conflict')
      expect(await count()).toBe(before + 1)
    })

    it('is not the key of an attestation', async () => {
      accepted(await once(REQUEST, 't-5'), 201)
      const headers = { 'Idempotency-Key': 't-5' }
      accepted(
        await na.as('privileged')(
          'POST',
          '/admin/attestations',
          { subject_id: 'x', roles: ['role:client'] },
          { headers },
        ),
        201,
      )
    })
  })

  describe('503', () => {
    it('signs nothing after the validity period of the genesis block', async () => {
      const own = new ManualClock()
      const late = await startTestAuthority({ clock: own, settings })
      try {
        own.advance(90 * 86_400)
        refused(await late.as('privileged')('POST', '/admin/recognition-treaties', REQUEST), 503, 'service_unavailable')
        expect(accepted(await late.request('GET', '/recognition-treaties'))['count']).toBe(0)
      } finally {
        await late.stop()
      }
    })
  })
})
