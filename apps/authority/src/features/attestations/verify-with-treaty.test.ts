import { readJson, toRecognizedIssuer, readRecognitionTreaty } from '@chancery/protocol'
import type { JsonObject, JsonValue } from '@chancery/protocol'
import {
  accepted,
  eventsOfCallers,
  foreignAttestation,
  foreignFeed,
  foreignSovereign,
  foreignTreaty,
  ManualClock,
  refused,
  startTestAuthority,
  wireText,
} from '@chancery/testkit'
import type { ForeignObject, TestResponse, TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const clock = new ManualClock()
const partner = foreignSovereign('PARTNER-NET')
const broker = foreignSovereign('BROKER-NET')
let na: TestAuthority
/** TEST-NET recognises PARTNER-NET. */
let own: JsonObject
beforeAll(async () => {
  na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
  // A job publishes the first list. After that the authority writes nothing on its own.
  accepted(await na.request('GET', '/crl'))
  own = await issueTreaty({ subject_sovereign_id: 'PARTNER-NET', subject_public_keys: [partner.publicKey] })
})
afterAll(() => na.stop())

async function issueTreaty(body: JsonObject): Promise<JsonObject> {
  const scope = { allowed_roles: ['role:client'], accepted_statuses: ['active', 'suspended'] }
  return accepted(await na.as('privileged')('POST', '/admin/recognition-treaties', { scope, ...body }), 201)
}
const asJson = (record: ForeignObject): JsonObject => readJson(wireText(record)) as JsonObject
const member = (changes: ForeignObject = {}): JsonObject => asJson(foreignAttestation(partner, clock.now(), changes))
const post = (body: JsonObject): Promise<TestResponse> =>
  na.request('POST', '/attestations/verify-with-treaty', { body })
const verify = async (attestation: JsonObject, treaty: JsonObject, more: JsonObject = {}): Promise<JsonObject> =>
  accepted(await post({ attestation, treaty, ...more }))
const reason = async (
  attestation: JsonObject,
  treaty: JsonObject,
  more: JsonObject = {},
): Promise<JsonValue | undefined> => (await verify(attestation, treaty, more))['reason']

describe('POST /attestations/verify-with-treaty', () => {
  it('accepts a member of the sovereign that an own treaty recognises', async () => {
    const attestation = member()
    expect(await verify(attestation, own)).toEqual({
      accepted: true,
      reason: 'accepted',
      trust_basis: 'this_authority',
      counts_here: true,
      treaty_id: own['treaty_id'],
      attestation_id: attestation['attestation_id'],
      issuer_sovereign_id: 'TEST-NET',
      subject_sovereign_id: 'PARTNER-NET',
    })
  })

  it('writes no row', async () => {
    const before = (await eventsOfCallers(na)).length
    await verify(member(), own)
    await verify(member({ roles: [] }), own)
    expect((await eventsOfCallers(na)).length).toBe(before)
  })

  describe('reports an invalid treaty with its reason', () => {
    it.each<[string, () => JsonObject, JsonObject]>([
      ['treaty_not_held', () => ({ ...own, issued_by: 'x' }), {}],
      ['treaty_not_held', () => ({ ...own, treaty_id: 'unknown' }), {}],
      ['treaty_not_held', () => ({ ...own, signatures: [] }), {}],
      ['treaty_issuer_not_recognized', () => asJson(foreignTreaty(broker, partner, clock.now())), {}],
      [
        'treaty_wrong_subject',
        () => asJson(foreignTreaty(broker, broker, clock.now())),
        { treaty_issuer_public_keys: [broker.publicKey] },
      ],
      [
        'treaty_bad_status',
        () => asJson(foreignTreaty(broker, partner, clock.now(), { status: 'suspended' })),
        { treaty_issuer_public_keys: [broker.publicKey] },
      ],
      [
        'treaty_outside_validity_window',
        () => asJson(foreignTreaty(broker, partner, clock.now() - 10n ** 15n)),
        { treaty_issuer_public_keys: [broker.publicKey] },
      ],
      [
        'treaty_missing_signature',
        () => ({ ...asJson(foreignTreaty(broker, partner, clock.now())), signatures: [] }),
        { treaty_issuer_public_keys: [broker.publicKey] },
      ],
      [
        'treaty_invalid_signature',
        () => asJson(foreignTreaty(broker, partner, clock.now())),
        { treaty_issuer_public_keys: [partner.publicKey] },
      ],
    ])('%s', async (expected, treaty, more) => {
      const answer = await verify(member(), treaty(), more)
      expect(answer).toMatchObject({ accepted: false, reason: expected })
    })

    it('treaty_locally_revoked after the treaty was revoked here', async () => {
      const treaty = await issueTreaty({
        subject_sovereign_id: 'PARTNER-NET',
        subject_public_keys: [partner.publicKey],
      })
      expect(await reason(member(), treaty)).toBe('accepted')
      accepted(
        await na.as('privileged')('POST', `/admin/recognition-treaties/${String(treaty['treaty_id'])}/revoke`, {}),
      )
      expect(await reason(member(), treaty)).toBe('treaty_locally_revoked')
      // The treaty is checked first, so the member is not checked any more.
      expect(await reason(member({ roles: [] }), treaty)).toBe('treaty_locally_revoked')
    })
  })

  describe('reports a refused member with its reason', () => {
    it.each<[string, ForeignObject]>([
      ['attestation_bad_status', { status: 'revoked' }],
      ['attestation_outside_validity_window', { status: 'suspended' }],
      [
        'attestation_outside_validity_window',
        { issued_at: '2020-01-01T00:00:00Z', valid_from: '2020-01-01T00:00:00Z', expires_at: '2020-02-01T00:00:00Z' },
      ],
      ['attestation_role_not_allowed', { roles: ['role:operator'] }],
      ['attestation_role_not_allowed', { roles: [] }],
    ])('%s', async (expected, changes) => {
      expect(await verify(member(changes), own)).toMatchObject({ accepted: false, reason: expected })
    })

    it('attestation_missing_signature and attestation_invalid_signature', async () => {
      expect(await reason({ ...member(), signatures: [] }, own)).toBe('attestation_missing_signature')
      expect(await reason({ ...member(), subject_id: 'x' }, own)).toBe('attestation_invalid_signature')
      const forged = asJson(foreignAttestation(foreignSovereign('PARTNER-NET', 'thief'), clock.now()))
      expect(await reason(forged, own)).toBe('attestation_invalid_signature')
    })

    it('attestation_locally_revoked after its issuer’s feed was imported', async () => {
      const feed = asJson(foreignFeed(partner, 1, ['gone']))
      accepted(await na.as('privileged')('POST', '/admin/sovereign-revocation-feeds/import', { feed }))
      expect(await reason(member({ attestation_id: 'gone' }), own)).toBe('attestation_locally_revoked')
      expect(await reason(member({ attestation_id: 'here' }), own)).toBe('accepted')
    })

    it('attestation_locally_revoked for an own member that another sovereign’s treaty recognises', async () => {
      const issued = accepted(
        await na.as('privileged')('POST', '/admin/attestations', { subject_id: 'x', roles: ['role:client'] }),
        201,
      )
      const us = { sovereign_id: 'TEST-NET', publicKey: na.genesis.network_authority.public_key }
      const treaty = asJson(foreignTreaty(broker, us, clock.now()))
      const keys = { treaty_issuer_public_keys: [broker.publicKey] }
      expect(await verify(issued, treaty, keys)).toMatchObject({
        reason: 'accepted',
        trust_basis: 'caller_supplied_keys',
        issuer_sovereign_id: 'BROKER-NET',
      })
      accepted(await na.as('privileged')('POST', `/admin/attestations/${String(issued['attestation_id'])}/revoke`, {}))
      expect(await reason(issued, treaty, keys)).toBe('attestation_locally_revoked')
    })
  })

  describe('recognition is not transitive', () => {
    const third = foreignSovereign('THIRD-NET')
    // PARTNER-NET is recognised for role:client. What it signs for THIRD-NET has no effect here.
    it.each(['role:client', 'role:operator'])('a partner’s treaty admits no third network as %s', async (role) => {
      const theirs = asJson(foreignTreaty(partner, third, clock.now(), { scope: { allowed_roles: [role] } }))
      const guest = asJson(foreignAttestation(third, clock.now(), { roles: [role] }))
      const refusal = {
        accepted: false,
        reason: 'treaty_issuer_not_recognized',
        trust_basis: 'none',
        counts_here: false,
      }
      for (const keys of [undefined, null, []])
        expect(
          await verify(guest, theirs, keys === undefined ? {} : { treaty_issuer_public_keys: keys }),
        ).toMatchObject(refusal)
      expect(await reason(guest, own)).toBe('treaty_wrong_subject')
    })

    it('with keys of the caller the verdict is the caller’s, and counts_here is false', async () => {
      const theirs = asJson(foreignTreaty(partner, third, clock.now()))
      const guest = asJson(foreignAttestation(third, clock.now()))
      expect(await verify(guest, theirs, { treaty_issuer_public_keys: [partner.publicKey] })).toMatchObject({
        accepted: true,
        trust_basis: 'caller_supplied_keys',
        counts_here: false,
      })
      expect(await verify(member({ roles: [] }), own)).toMatchObject({
        accepted: false,
        trust_basis: 'this_authority',
        counts_here: false,
      })
    })

    it('reports the treaty as valid under the partner’s keys, with counts_here false', async () => {
      const theirs = asJson(foreignTreaty(partner, third, clock.now()))
      const answer = accepted(await na.request('POST', '/recognition-treaties/verify', { body: { treaty: theirs } }))
      expect(answer).toMatchObject({ accepted: true, trust_basis: 'recognized_issuer_keys', counts_here: false })
    })
  })

  it('the scope of the treaty decides who the issuer is', () => {
    expect(toRecognizedIssuer(readRecognitionTreaty(own))).toMatchObject({
      allowed_roles: ['role:client'],
      accepted_statuses: ['active', 'suspended'],
    })
  })

  describe('422', () => {
    it.each<[string, () => JsonObject]>([
      ['nothing', () => ({})],
      ['no treaty', () => ({ attestation: member() })],
      ['no attestation', () => ({ treaty: own })],
      ['an unknown member in the treaty', () => ({ attestation: member(), treaty: { ...own, extra: 1 } })],
      ['an unknown member in the attestation', () => ({ attestation: { ...member(), extra: 1 }, treaty: own })],
      // The form of the records is checked before the form of the keys.
      ['both records and keys malformed', () => ({ attestation: null, treaty: own, treaty_issuer_public_keys: 'x' })],
    ])('%s', async (_what, body) => {
      refused(await post(body()), 422, 'invalid_attestation_or_treaty')
    })
  })

  describe('400', () => {
    it.each<[JsonValue]>([['x'], [{}], [7], [['x']], [[null]], [[partner.publicKey.slice(1)]]])(
      'the keys %j',
      async (keys) => {
        refused(
          await post({ attestation: member(), treaty: own, treaty_issuer_public_keys: keys }),
          400,
          'invalid_public_keys',
        )
      },
    )

    it('absent, null and empty mean none', async () => {
      for (const keys of [null, []])
        expect(await reason(member(), own, { treaty_issuer_public_keys: keys })).toBe('accepted')
    })
  })
})
