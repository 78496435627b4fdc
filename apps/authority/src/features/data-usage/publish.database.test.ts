import { JsonFloat, type JsonObject, type JsonValue } from '@chancery/protocol'
import {
  ManualClock,
  accepted,
  createTestDatabase,
  detailsOf,
  eventsOf,
  refused,
  startTestAuthority,
  verifiesWithNodeCrypto,
} from '@chancery/testkit'
import type { TestResponse, TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const clock = new ManualClock('2030-01-02T03:04:05Z')
const options = { clock, settings: { NA_CLOCK_CHECK: 'off' } }
let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority(options)
})
afterAll(() => na.stop())

const TERMS: JsonObject = {
  licensee_sovereign_id: 'bolt-net',
  allowed_source_ids: ['src-1', 'src-2'],
  allowed_access_types: ['read'],
  max_volume_bytes_per_session: 1000,
  prohibited_classification_tags: ['health'],
  valid_from: '2030-01-01T00:00:00Z',
  valid_until: '2031-01-01T00:00:00Z',
}
const publish = (changes: JsonObject = {}, as = 'standard'): Promise<TestResponse> =>
  na.as(as)('POST', '/admin/data-usage/policy', { ...TERMS, ...changes })
const current = (licensee?: string): Promise<TestResponse> =>
  na.request('GET', `/data-usage/policy${licensee === undefined ? '' : `?licensee_sovereign_id=${licensee}`}`)
const without = (name: string): JsonObject =>
  Object.fromEntries(Object.entries(TERMS).filter(([each]) => each !== name))
const send = (body: JsonObject): Promise<TestResponse> => na.as('standard')('POST', '/admin/data-usage/policy', body)

describe('GET /data-usage/policy', () => {
  it('is 404 until one is published', async () => {
    const own = await startTestAuthority()
    refused(await own.request('GET', '/data-usage/policy'), 404, 'no_policy')
    await own.stop()
  })
})

describe('POST /admin/data-usage/policy', () => {
  describe('201', () => {
    it('signs the terms, makes them active and audits it', async () => {
      const answer = await publish()
      const policy = accepted(answer, 201)
      expect(policy).toEqual({
        ...TERMS,
        policy_id: policy['policy_id'],
        licensor_sovereign_id: 'TEST-NET',
        signature: { key_id: 'na-test', sig: (policy['signature'] as JsonObject)['sig'] },
      })
      expect(policy['policy_id']).toMatch(/^[0-9a-f-]{36}$/)
      expect(verifiesWithNodeCrypto(answer.text, na.genesis.network_authority.public_key)).toBe(true)
      expect((await current()).text).toBe(answer.text)
      const events = await eventsOf(na, answer)
      expect(events.map((event) => event['event_type'])).toEqual(['data_license_policy_created'])
      expect(detailsOf(events[0])).toEqual({
        policy_id: policy['policy_id'],
        previous_policy_id: null,
        key_id: 'op-standard',
        remote_addr: '127.0.0.1',
        request_id: answer.headers['x-request-id'],
      })
    })

    it('fills in absent members, and accepts an empty license', async () => {
      const body = {
        licensee_sovereign_id: 'Zoë',
        allowed_source_ids: [],
        allowed_access_types: [],
        prohibited_classification_tags: null,
        // Truncated after six digits, and written in UTC.
        valid_from: '2030-01-01T02:00:00.1234567+02:00',
        valid_until: '2031-01-01T00:00:00',
        unknown: 1,
      }
      expect(accepted(await send(body), 201)).toMatchObject({
        max_volume_bytes_per_session: null,
        prohibited_classification_tags: [],
        allowed_source_ids: [],
        allowed_access_types: [],
        valid_from: '2030-01-01T00:00:00.123456Z',
        valid_until: '2031-01-01T00:00:00Z',
      })
    })

    it('keeps one license in force for each licensee, also after a restart', async () => {
      const database = await createTestDatabase()
      const first = await startTestAuthority({ ...options, database })
      const issue = async (licensee_sovereign_id: string): Promise<TestResponse> =>
        first.as('standard')('POST', '/admin/data-usage/policy', { ...TERMS, licensee_sovereign_id })
      const [replaced, bolt, cedar] = [await issue('bolt-net'), await issue('bolt-net'), await issue('cedar-net')]
      const [event] = await eventsOf(first, bolt)
      expect(detailsOf(event)['previous_policy_id']).toBe(accepted(replaced, 201)['policy_id'])
      expect(detailsOf((await eventsOf(first, cedar))[0])['previous_policy_id']).toBeNull()
      await first.stop()
      const again = await startTestAuthority({ ...options, database })
      const ask = (query: string): Promise<TestResponse> => again.request('GET', `/data-usage/policy${query}`)
      expect((await ask('?licensee_sovereign_id=bolt-net')).text).toBe(bolt.text)
      expect((await ask('?licensee_sovereign_id=cedar-net')).text).toBe(cedar.text)
      expect((await ask('')).text).toBe(cedar.text)
      refused(await ask('?licensee_sovereign_id=other-net'), 404, 'no_policy')
      refused(await ask('?licensee_sovereign_id='), 400, 'invalid_input')
      expect(refused(await ask('?licensee=bolt-net'), 400, 'unexpected_field')['details']).toEqual({
        fields: ['licensee'],
      })
      await again.stop()
      await database.drop()
    })

    it('of parallel publishers leaves exactly one active, and one in force for each licensee', async () => {
      const answers = await Promise.all(
        Array.from({ length: 8 }, (_, i) => publish({ licensee_sovereign_id: `licensee-${i % 2}` })),
      )
      for (const answer of answers) accepted(answer, 201)
      const rows = await na.core.database.read.selectFrom('data_license_policies').selectAll().execute()
      const active = rows.filter((row) => row.active === 1)
      expect(active).toHaveLength(1)
      expect(answers.map((answer) => answer.text)).toContain(active[0]?.policy_json)
      expect((await current()).text).toBe(active[0]?.policy_json)
      const inForce = rows.filter(({ in_force_for }) => in_force_for?.startsWith('licensee-') === true)
      expect(inForce).toHaveLength(2)
      for (const { in_force_for, policy_json } of inForce)
        expect((await current(in_force_for ?? '')).text).toBe(policy_json)
    })

    it('returns the first response again for one Idempotency-Key', async () => {
      const call = na.as('standard')
      const headers = { 'idempotency-key': 'license-1' }
      const first = await call('POST', '/admin/data-usage/policy', TERMS, { headers })
      const again = await call('POST', '/admin/data-usage/policy', TERMS, { headers })
      expect(again.text).toBe(first.text)
      const other = await call('POST', '/admin/data-usage/policy', { ...TERMS, unknown: 1 }, { headers })
      refused(other, 409, 'conflict')
    })
  })

  describe('400', () => {
    const labels = (count: number): JsonValue => Array.from({ length: count }, (_, i) => `s-${i}`)
    it.each<[string, JsonObject]>([
      ['no licensee', without('licensee_sovereign_id')],
      ['an empty licensee', { ...TERMS, licensee_sovereign_id: '' }],
      ['a licensee with a line break', { ...TERMS, licensee_sovereign_id: 'a\nb' }],
      ['no sources', without('allowed_source_ids')],
      ['null sources', { ...TERMS, allowed_source_ids: null }],
      ['a source that is a number', { ...TERMS, allowed_source_ids: [1] }],
      ['an empty source', { ...TERMS, allowed_source_ids: [''] }],
      ['a source of 257 characters', { ...TERMS, allowed_source_ids: ['x'.repeat(257)] }],
      ['1025 sources', { ...TERMS, allowed_source_ids: labels(1025) }],
      ['no access types', without('allowed_access_types')],
      ['access types as an object', { ...TERMS, allowed_access_types: {} }],
      ['tags as a string', { ...TERMS, prohibited_classification_tags: 'health' }],
      ['a cap as a string', { ...TERMS, max_volume_bytes_per_session: '5' }],
      ['a cap of 5.0', { ...TERMS, max_volume_bytes_per_session: new JsonFloat(5) }],
      ['a negative cap', { ...TERMS, max_volume_bytes_per_session: -1 }],
      ['a bad member before a bad time', { ...TERMS, allowed_source_ids: 'x', valid_from: 'x' }],
    ])('missing_policy_fields for %s, and nothing changes', async (_name, body) => {
      const before = await current()
      const answer = await send(body)
      refused(answer, 400, 'missing_policy_fields')
      expect((await current()).text).toBe(before.text)
      expect(await eventsOf(na, answer)).toEqual([])
    })

    it.each<[string, JsonObject]>([
      ['no start', without('valid_from')],
      ['a start of null', { ...TERMS, valid_from: null }],
      ['an end that is a number', { ...TERMS, valid_until: 5 }],
      ['a day without a time', { ...TERMS, valid_until: '2030-01-02' }],
      ['a day that does not exist', { ...TERMS, valid_until: '2030-02-30T00:00:00Z' }],
    ])('invalid_timestamps for %s', async (_name, body) => {
      refused(await send(body), 400, 'invalid_timestamps')
    })

    it('invalid_timestamp_order for an empty validity period, whatever the zones', async () => {
      refused(await publish({ valid_until: TERMS['valid_from'] ?? null }), 400, 'invalid_timestamp_order')
      refused(await publish({ valid_until: '2030-01-01T01:00:00+02:00' }), 400, 'invalid_timestamp_order')
    })
  })

  describe('401 and 422', () => {
    it('is for operators', async () => {
      refused(await na.request('POST', '/admin/data-usage/policy', { body: TERMS }), 401, 'admin_auth_failed')
    })

    it('policy_sign_failed when the key cannot sign, and the active policy stays', async () => {
      accepted(await publish(), 201)
      const before = (await current()).text
      const { signer } = na.core.signing
      const sign = signer.sign
      try {
        Object.assign(signer, { sign: () => Promise.reject(new Error('the key is away')) })
        refused(await publish(), 422, 'policy_sign_failed')
      } finally {
        Object.assign(signer, { sign })
      }
      expect((await current()).text).toBe(before)
    })
  })
})

describe('two instances on one database', () => {
  it('share the active policy, which survives a restart', async () => {
    const database = await createTestDatabase()
    const [a, b] = [
      await startTestAuthority({ ...options, database }),
      await startTestAuthority({ ...options, database }),
    ]
    const made = await a.as('standard')('POST', '/admin/data-usage/policy', TERMS)
    expect((await b.request('GET', '/data-usage/policy')).text).toBe(made.text)
    const next = await b.as('standard')('POST', '/admin/data-usage/policy', { ...TERMS, licensee_sovereign_id: 'next' })
    expect((await a.request('GET', '/data-usage/policy')).text).toBe(next.text)
    await Promise.all([a.stop(), b.stop()])
    const again = await startTestAuthority({ ...options, database })
    expect((await again.request('GET', '/data-usage/policy')).text).toBe(next.text)
    await again.stop()
    await database.drop()
  })
})
