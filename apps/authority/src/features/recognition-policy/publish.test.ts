import { type JsonObject, type JsonValue, canonicalJson } from '@chancery/protocol'
import { accepted, detailsOf, eventsOf, foreignSovereign, refused, startTestAuthority } from '@chancery/testkit'
import type { TestResponse, TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const key = foreignSovereign('PARTNER-NET').publicKey
const POLICY = {
  local_sovereign_id: 'TEST-NET',
  recognized_issuers: [
    { sovereign_id: 'PARTNER-NET', public_keys: [key], allowed_roles: ['role:client'], accepted_statuses: ['active'] },
  ],
  revoked_attestation_ids: [],
}
let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority()
})
afterAll(() => na.stop())

const publish = (body: JsonObject, as = 'privileged'): Promise<TestResponse> =>
  na.as(as)('POST', '/admin/recognition-policy', body)
const current = (): Promise<TestResponse> => na.request('GET', '/recognition-policy')
const rows = () => na.core.database.read.selectFrom('recognition_policies').selectAll().orderBy('position').execute()

describe('GET /recognition-policy', () => {
  it('is 404 until one is set', async () => {
    const own = await startTestAuthority()
    refused(await own.request('GET', '/recognition-policy'), 404, 'recognition_policy_not_configured')
    await own.stop()
  })
})

describe('POST /admin/recognition-policy', () => {
  describe('200', () => {
    it('activates the policy and audits it', async () => {
      const answer = await publish({ policy_id: 'accept-2030', recognition_policy: POLICY })
      expect(accepted(answer)).toEqual({ policy_id: 'accept-2030', local_sovereign_id: 'TEST-NET', active: true })
      expect(accepted(await current())).toEqual(POLICY)
      const events = await eventsOf(na, answer)
      expect(events.map((event) => event['event_type'])).toEqual(['recognition_policy_saved'])
      expect(detailsOf(events[0])).toEqual({
        policy_id: 'accept-2030',
        local_sovereign_id: 'TEST-NET',
        recognized_issuer_count: 1,
        key_id: 'op-privileged',
        remote_addr: '127.0.0.1',
        request_id: answer.headers['x-request-id'],
      })
    })

    it('accepts the worked example of protocol/core 16', async () => {
      const body =
        '{"policy_id":"accept-2030","recognition_policy":{"local_sovereign_id":"EXAMPLE-NET","recognized_issuers":[{"sovereign_id":"PARTNER-NET","public_keys":["FWxV5KPAG28PqQ20lCvRmUsOjMVzadpN56I1bkBPX1o="],"allowed_roles":["role:client"],"accepted_statuses":["active"]}],"revoked_attestation_ids":[]}}'
      const example = JSON.parse(body) as { recognition_policy: JsonObject }
      // The name of the accepting sovereign is normally the own id, which is not enforced.
      expect(accepted(await publish(example))).toMatchObject({ local_sovereign_id: 'EXAMPLE-NET' })
      expect(canonicalJson(accepted(await current()))).toBe(canonicalJson(example.recognition_policy))
    })

    it('uses the sovereign as the name when none is given, and fills in every default', async () => {
      const sparse = { local_sovereign_id: 'Zoë', recognized_issuers: [{ sovereign_id: 'B', public_keys: [key] }] }
      expect(accepted(await publish({ recognition_policy: sparse }))).toMatchObject({ policy_id: 'recognition-Zoë' })
      expect(accepted(await current())).toEqual({
        local_sovereign_id: 'Zoë',
        recognized_issuers: [
          { sovereign_id: 'B', public_keys: [key], allowed_roles: [], accepted_statuses: ['active'] },
        ],
        revoked_attestation_ids: [],
      })
      accepted(await publish({ recognition_policy: { local_sovereign_id: 'n'.repeat(128) } }))
    })

    it('returns revoked ids as a set, sorted by code point', async () => {
      const revoked_attestation_ids = ['\u{1f600}', 'b', '\ue000', 'b', 'B']
      accepted(await publish({ recognition_policy: { ...POLICY, revoked_attestation_ids } }))
      expect(accepted(await current())['revoked_attestation_ids']).toEqual(['B', 'b', '\ue000', '\u{1f600}'])
    })

    it('stores earlier versions, of which one is active; publishing one again is a new version', async () => {
      const before = (await rows()).length
      for (const id of ['p-a', 'p-b', 'p-a']) accepted(await publish({ policy_id: id, recognition_policy: POLICY }))
      const all = await rows()
      expect(all.slice(before).map((row) => row.policy_id)).toEqual(['p-a', 'p-b', 'p-a'])
      expect(all.filter((row) => row.active === 1).map((row) => row.position)).toEqual([all.at(-1)?.position])
    })

    it('serves all parallel publishers, with one active at the end', async () => {
      const answers = await Promise.all(
        Array.from({ length: 8 }, (_, i) =>
          publish({ policy_id: `race-${i}`, recognition_policy: { ...POLICY, local_sovereign_id: `L${i}` } }),
        ),
      )
      for (const answer of answers) accepted(answer)
      const all = await rows()
      expect(all.map((row) => Number(row.position))).toEqual(all.map((_, i) => i + 1))
      const active = all.filter((row) => row.active === 1)
      expect(active).toHaveLength(1)
      expect((await current()).text).toBe(active[0]?.policy_json)
    })

    it('accepts 256 issuers and 50,000 revoked ids', async () => {
      const recognized_issuers = Array.from({ length: 256 }, (_, i) => ({ sovereign_id: `S${i}`, public_keys: [key] }))
      const revoked_attestation_ids = Array.from({ length: 50_000 }, (_, i) => `a${String(i).padStart(6, '0')}`)
      const policy = { local_sovereign_id: 'L', recognized_issuers, revoked_attestation_ids }
      accepted(await publish({ recognition_policy: policy }))
      expect((JSON.parse((await current()).text) as typeof policy).revoked_attestation_ids).toHaveLength(50_000)
    })
  })

  describe('422', () => {
    const issuer = (change: JsonObject): JsonObject => ({
      ...POLICY,
      recognized_issuers: [{ ...POLICY.recognized_issuers[0], ...change }],
    })
    it.each<[string, JsonObject]>([
      ['nothing', {}],
      ['null', { recognition_policy: null }],
      ['a list', { recognition_policy: [] }],
      ['no name', { recognition_policy: { recognized_issuers: [] } }],
      ['an unknown member', { recognition_policy: { ...POLICY, signatures: [] } }],
      [
        '257 issuers',
        {
          recognition_policy: {
            local_sovereign_id: 'L',
            recognized_issuers: Array.from({ length: 257 }, (_, i) => ({ sovereign_id: `S${i}`, public_keys: [key] })),
          },
        },
      ],
      [
        'one issuer twice',
        {
          recognition_policy: {
            ...POLICY,
            recognized_issuers: [...POLICY.recognized_issuers, ...POLICY.recognized_issuers],
          },
        },
      ],
      ['no key', { recognition_policy: issuer({ public_keys: [] }) }],
      ['17 keys', { recognition_policy: issuer({ public_keys: Array<string>(17).fill(key) }) }],
      ['a malformed key', { recognition_policy: issuer({ public_keys: [key, 'x'] }) }],
      ['a key of small order', { recognition_policy: issuer({ public_keys: [Buffer.alloc(32).toString('base64')] }) }],
      [
        'a key that is not of prime order',
        { recognition_policy: issuer({ public_keys: [Buffer.alloc(32, 0x99).fill(0x95, 0, 1).toString('base64')] }) },
      ],
      ['an unknown status', { recognition_policy: issuer({ accepted_statuses: ['expired'] }) }],
      ['an unknown member of an issuer', { recognition_policy: issuer({ note: 'x' }) }],
      [
        '50,001 revoked ids',
        {
          recognition_policy: { ...POLICY, revoked_attestation_ids: Array.from({ length: 50_001 }, (_, i) => `a${i}`) },
        },
      ],
      ...['', 7, null, [], 'a\nb', 'x'.repeat(161)].map((policy_id: JsonValue): [string, JsonObject] => [
        `policy_id ${JSON.stringify(policy_id).slice(0, 20)}`,
        { policy_id, recognition_policy: POLICY },
      ]),
    ])('%s', async (_what, body) => {
      const before = await rows()
      const answer = await publish(body)
      refused(answer, 422, 'invalid_recognition_policy')
      expect(await rows()).toEqual(before)
      expect(await eventsOf(na, answer)).toEqual([])
    })
  })

  describe('400', () => {
    it('names every unknown member', async () => {
      const error = refused(await publish({ ...POLICY, policy_id: 'x' }), 400, 'unexpected_field')
      expect(error['details']).toEqual({
        fields: ['local_sovereign_id', 'recognized_issuers', 'revoked_attestation_ids'],
      })
    })
  })

  describe('401 and 403', () => {
    it('is for privileged operators', async () => {
      refused(
        await na.request('POST', '/admin/recognition-policy', { body: { recognition_policy: POLICY } }),
        401,
        'admin_auth_failed',
      )
      refused(await publish({ recognition_policy: POLICY }, 'standard'), 403, 'insufficient_operator_tier')
    })
  })
})
