import { type JsonObject, type JsonValue, canonicalJson, readJson } from '@chancery/protocol'
import {
  ManualClock,
  accepted,
  foreignAttestation,
  foreignFeed,
  foreignSovereign,
  publishFirst,
  refused,
  startTestAuthority,
  wireText,
} from '@chancery/testkit'
import type { ForeignObject, TestResponse, TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const clock = new ManualClock()
const partner = foreignSovereign('PARTNER-NET')
const unknownSigner = foreignSovereign('STRANGER-NET')
let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
  await publishFirst(na)
})
afterAll(() => na.stop())

const ENTRY = {
  sovereign_id: 'PARTNER-NET',
  public_keys: [partner.publicKey],
  allowed_roles: ['role:client', 'role:service:index'],
  accepted_statuses: ['active'],
}
const POLICY = { local_sovereign_id: 'TEST-NET', recognized_issuers: [ENTRY] }

const post = (body: JsonObject): Promise<TestResponse> => na.request('POST', '/attestations/verify', { body })
/** Sends the text of the other implementation unchanged. */
const verify = async (attestation: ForeignObject, policy: JsonObject = POLICY): Promise<JsonObject> => {
  const rawBody = `{"attestation":${wireText(attestation)},"recognition_policy":${canonicalJson(policy)}}`
  return accepted(
    await na.request('POST', '/attestations/verify', { rawBody, headers: { 'content-type': 'application/json' } }),
  )
}
const reason = async (attestation: ForeignObject, policy?: JsonObject): Promise<JsonValue | undefined> =>
  (await verify(attestation, policy))['reason']
const member = (changes: ForeignObject = {}): ForeignObject => foreignAttestation(partner, clock.now(), changes)
const entry = (changes: JsonObject): JsonObject => ({ ...POLICY, recognized_issuers: [{ ...ENTRY, ...changes }] })

async function importFeed(ids: readonly string[], sequence: number): Promise<void> {
  const feed = readJson(wireText(foreignFeed(partner, sequence, ids))) as JsonObject
  const body = { feed, issuer_public_keys: [partner.publicKey] }
  accepted(await na.as('privileged')('POST', '/admin/sovereign-revocation-feeds/import', body))
}

/** All stored state. A public call must not change any of it. */
async function traces(): Promise<unknown> {
  const db = na.core.database.read
  const [heads, events] = [await db.selectFrom('heads').selectAll().orderBy('name').execute(), await na.auditEvents()]
  return { heads, events: events.length }
}

describe('POST /attestations/verify', () => {
  it('accepts a member of a recognised sovereign, and returns these four members only', async () => {
    const attestation = member({ claims: { note: 'Zoë 😀' } })
    const before = await traces()
    expect(await verify(attestation)).toEqual({
      accepted: true,
      reason: 'accepted',
      issuer_sovereign_id: 'PARTNER-NET',
      attestation_id: attestation['attestation_id'],
    })
    expect(await traces()).toEqual(before)
  })

  describe('each check of the table', () => {
    it.each<[string, () => ForeignObject, JsonObject]>([
      ['unknown_issuer', () => foreignAttestation(unknownSigner, clock.now()), POLICY],
      ['unknown_issuer', () => member(), { local_sovereign_id: 'TEST-NET' }],
      [
        'locally_revoked',
        () => member({ attestation_id: 'listed' }),
        { ...POLICY, revoked_attestation_ids: ['listed'] },
      ],
      ['bad_status', () => member({ status: 'suspended' }), POLICY],
      ['bad_status', () => member({ status: 'revoked' }), POLICY],
      ['bad_status', () => member(), entry({ accepted_statuses: ['suspended'] })],
      ['bad_status', () => member(), entry({ accepted_statuses: [] })],
      ['outside_validity_window', () => member({ status: 'suspended' }), entry({ accepted_statuses: ['suspended'] })],
      [
        'outside_validity_window',
        () => member({ valid_from: '2027-01-01T00:00:00Z', expires_at: '2028-01-01T00:00:00Z' }),
        POLICY,
      ],
      [
        'outside_validity_window',
        () =>
          member({
            issued_at: '2020-01-01T00:00:00Z',
            valid_from: '2020-01-01T00:00:00Z',
            expires_at: '2020-01-02T00:00:00Z',
          }),
        POLICY,
      ],
      ['role_not_allowed', () => member({ roles: [] }), POLICY],
      ['role_not_allowed', () => member({ roles: ['role:client', 'role:operator'] }), POLICY],
      ['role_not_allowed', () => member(), entry({ allowed_roles: [] })],
      ['missing_signature', () => ({ ...member(), signatures: [] }), POLICY],
      ['invalid_signature', () => ({ ...member(), subject_id: 'another name' }), POLICY],
      ['invalid_signature', () => member(), entry({ public_keys: [unknownSigner.publicKey] })],
      ['accepted', () => member(), entry({ public_keys: [unknownSigner.publicKey, partner.publicKey] })],
    ])('%s', async (expected, attestation, policy) => {
      const before = await traces()
      const answer = await verify(attestation(), policy)
      expect(answer).toMatchObject({ reason: expected, accepted: expected === 'accepted' })
      expect(Object.keys(answer).sort()).toEqual(['accepted', 'attestation_id', 'issuer_sovereign_id', 'reason'])
      expect(await traces()).toEqual(before)
    })

    it('an absent list of signatures is reported as missing, not as malformed', async () => {
      const { signatures: _dropped, ...unsigned } = member()
      expect(await reason(unsigned)).toBe('missing_signature')
    })

    it('the first failure of the table decides', async () => {
      const policy = { ...POLICY, revoked_attestation_ids: ['listed'] }
      const worst = { ...member({ attestation_id: 'listed', status: 'suspended', roles: [] }), signatures: [] }
      expect(await reason({ ...worst, issuer_sovereign_id: 'STRANGER-NET' }, policy)).toBe('unknown_issuer')
      expect(await reason(worst, policy)).toBe('locally_revoked')
      expect(await reason({ ...worst, attestation_id: 'free' }, policy)).toBe('bad_status')
      expect(await reason({ ...worst, attestation_id: 'free', status: 'active' }, policy)).toBe('role_not_allowed')
      const past = {
        valid_from: '2020-01-01T00:00:00Z',
        issued_at: '2020-01-01T00:00:00Z',
        expires_at: '2020-01-02T00:00:00Z',
      }
      expect(await reason({ ...worst, ...past, attestation_id: 'free', status: 'active' }, policy)).toBe(
        'outside_validity_window',
      )
    })
  })

  it('accepts 300 s of clock skew in both directions and no more', async () => {
    const attestation = member({ valid_from: '2026-01-02T03:09:05Z', expires_at: '2026-01-03T00:00:00Z' })
    expect(await reason(attestation)).toBe('accepted')
    expect(
      await reason(member({ valid_from: '2026-01-02T03:09:05.000001Z', expires_at: '2026-01-03T00:00:00Z' })),
    ).toBe('outside_validity_window')
    const ended = { issued_at: '2026-01-01T00:00:00Z', valid_from: '2026-01-01T00:00:00Z' }
    expect(await reason(member({ ...ended, expires_at: '2026-01-02T02:59:05Z' }))).toBe('accepted')
    expect(await reason(member({ ...ended, expires_at: '2026-01-02T02:59:04.999999Z' }))).toBe(
      'outside_validity_window',
    )
  })

  it('an imported feed of the issuer revokes under any policy; a feed of another issuer does not', async () => {
    const id = 'withdrawn-1'
    await importFeed([id], 1)
    expect(await reason(member({ attestation_id: id }))).toBe('locally_revoked')
    const other = foreignAttestation(unknownSigner, clock.now(), { attestation_id: id })
    const policy = entry({ sovereign_id: 'STRANGER-NET', public_keys: [unknownSigner.publicKey] })
    expect(await reason(other, policy)).toBe('accepted')
    // A later feed without the id changes nothing.
    await importFeed(['withdrawn-2'], 2)
    expect(await reason(member({ attestation_id: id }))).toBe('locally_revoked')
  })

  it('refuses an own revoked attestation under any policy', async () => {
    const own = accepted(
      await na.as('privileged')('POST', '/admin/attestations', { subject_id: 'x', roles: ['role:client'] }),
      201,
    )
    const policy = entry({ sovereign_id: 'TEST-NET', public_keys: [na.genesis.network_authority.public_key] })
    const answer = async (): Promise<JsonObject> =>
      accepted(await post({ attestation: own, recognition_policy: policy }))
    expect((await answer())['reason']).toBe('accepted')
    accepted(await na.as('privileged')('POST', `/admin/attestations/${String(own['attestation_id'])}/revoke`, {}))
    expect((await answer())['reason']).toBe('locally_revoked')
  })

  describe('400', () => {
    it('missing_recognition_policy when none is sent and none is active; then the active one applies', async () => {
      const own = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
      try {
        const body = { attestation: readJson(wireText(member())) }
        const ask = (): Promise<TestResponse> => own.request('POST', '/attestations/verify', { body })
        refused(await ask(), 400, 'missing_recognition_policy')
        const publish = (policy: JsonObject): Promise<TestResponse> =>
          own.as('privileged')('POST', '/admin/recognition-policy', { recognition_policy: policy })
        accepted(await publish(POLICY))
        expect(accepted(await ask())['reason']).toBe('accepted')
        accepted(await publish(entry({ allowed_roles: [] })))
        expect(accepted(await ask())['reason']).toBe('role_not_allowed')
        // A policy in the request changes only the response to that caller.
        expect(
          accepted(
            await own.request('POST', '/attestations/verify', { body: { ...body, recognition_policy: POLICY } }),
          )['reason'],
        ).toBe('accepted')
        refused(await own.request('POST', '/attestations/verify', { body: {} }), 422, 'invalid_attestation_or_policy')
      } finally {
        await own.stop()
      }
    })
  })

  describe('422', () => {
    const good = (): JsonObject => readJson(wireText(member())) as JsonObject
    it.each<[string, () => JsonObject]>([
      ['no attestation', () => ({ recognition_policy: POLICY })],
      ['attestation null', () => ({ attestation: null, recognition_policy: POLICY })],
      ['attestation a string', () => ({ attestation: 'x', recognition_policy: POLICY })],
      ['an unknown member', () => ({ attestation: { ...good(), extra: 1 }, recognition_policy: POLICY })],
      ['an unknown status', () => ({ attestation: { ...good(), status: 'expired' }, recognition_policy: POLICY })],
      ['policy null', () => ({ attestation: good(), recognition_policy: null })],
      ['policy a list', () => ({ attestation: good(), recognition_policy: [] })],
      ['a policy without a name', () => ({ attestation: good(), recognition_policy: { recognized_issuers: [] } })],
      [
        'a policy with one issuer twice',
        () => ({ attestation: good(), recognition_policy: { ...POLICY, recognized_issuers: [ENTRY, ENTRY] } }),
      ],
      [
        'a policy with an issuer without keys',
        () => ({ attestation: good(), recognition_policy: entry({ public_keys: [] }) }),
      ],
    ])('%s', async (_what, body) => {
      refused(await post(body()), 422, 'invalid_attestation_or_policy')
    })
  })

  it('counts calls of this route only', async () => {
    const own = await startTestAuthority({ settings: { NA_RATE_LIMIT_VERIFY_PER_MINUTE: '2' } })
    try {
      const body = { attestation: {} }
      for (const status of [422, 422, 429])
        expect((await own.request('POST', '/attestations/verify', { body })).status).toBe(status)
      expect((await own.request('POST', '/attestations/verify-with-treaty', { body })).status).toBe(422)
      expect((await own.request('POST', '/recognition-treaties/verify', { body })).status).toBe(422)
    } finally {
      await own.stop()
    }
  })
})
