import { type JsonObject, type JsonValue, readJson } from '@chancery/protocol'
import {
  accepted,
  eventsOfCallers,
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
const third = foreignSovereign('THIRD-NET')
const unknownSigner = foreignSovereign('STRANGER-NET')
let na: TestAuthority
let ownKey: string
beforeAll(async () => {
  na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
  ownKey = na.genesis.network_authority.public_key
  accepted(await na.request('GET', '/crl'))
})
afterAll(() => na.stop())

async function issue(changes: JsonObject = {}): Promise<JsonObject> {
  const body = { subject_sovereign_id: 'PARTNER-NET', subject_public_keys: [partner.publicKey], ...changes }
  return accepted(await na.as('privileged')('POST', '/admin/recognition-treaties', body), 201)
}
const revoke = async (treaty: JsonObject): Promise<void> =>
  void accepted(
    await na.as('privileged')('POST', `/admin/recognition-treaties/${String(treaty['treaty_id'])}/revoke`, {}),
  )
const post = (body: JsonObject): Promise<TestResponse> => na.request('POST', '/recognition-treaties/verify', { body })
const verify = async (treaty: JsonObject, more: JsonObject = {}): Promise<JsonObject> =>
  accepted(await post({ treaty, ...more }))
const foreign = (issuer = partner, changes: ForeignObject = {}): JsonObject =>
  readJson(wireText(foreignTreaty(issuer, third, clock.now(), changes))) as JsonObject

describe('POST /recognition-treaties/verify', () => {
  describe('an own treaty', () => {
    it.each<[string, (key: string) => JsonValue]>([
      ['without keys', () => null],
      ['with an empty list', () => []],
      ['with the own key', (key) => [key]],
      ['with the own key twice', (key) => [key, key]],
    ])('%s is accepted as it is stored', async (_what, keys) => {
      const treaty = await issue()
      const before = (await eventsOfCallers(na)).length
      expect(await verify(treaty, { issuer_public_keys: keys(ownKey) })).toEqual({
        accepted: true,
        reason: 'accepted',
        trust_basis: 'this_authority',
        counts_here: true,
        treaty_id: treaty['treaty_id'],
        issuer_sovereign_id: 'TEST-NET',
        subject_sovereign_id: 'PARTNER-NET',
      })
      expect((await eventsOfCallers(na)).length).toBe(before)
    })

    it('with any other key is 422 caller_keys_not_accepted', async () => {
      const treaty = await issue()
      for (const keys of [[partner.publicKey], [ownKey, partner.publicKey]])
        refused(await post({ treaty, issuer_public_keys: keys }), 422, 'caller_keys_not_accepted')
      // Checked before the treaty is looked up.
      refused(
        await post({ treaty: { ...treaty, treaty_id: 'x' }, issuer_public_keys: [partner.publicKey] }),
        422,
        'caller_keys_not_accepted',
      )
    })

    it.each<[string, (treaty: JsonObject) => JsonObject]>([
      ['an unknown id', (treaty) => ({ ...treaty, treaty_id: 'unknown' })],
      ['another end', (treaty) => ({ ...treaty, expires_at: '2099-01-01T00:00:00Z' })],
      [
        'another label of the signature',
        (treaty) => ({ ...treaty, signatures: [{ ...(treaty['signatures'] as JsonObject[])[0], key_id: 'x' }] }),
      ],
      ['no signature', (treaty) => ({ ...treaty, signatures: [] })],
      [
        'the signature twice',
        (treaty) => ({
          ...treaty,
          signatures: [...(treaty['signatures'] as JsonObject[]), ...(treaty['signatures'] as JsonObject[])],
        }),
      ],
      // Defaults are filled in for verification, but the result is not the stored text.
      ['a default left out', ({ metadata: _dropped, ...treaty }) => treaty],
    ])('with %s is not_held', async (_what, change) => {
      const treaty = await issue()
      expect(await verify(change(treaty))).toMatchObject({
        accepted: false,
        reason: 'not_held',
        trust_basis: 'this_authority',
      })
    })

    it('does not depend on the order of members', async () => {
      const treaty = await issue()
      expect((await verify(Object.fromEntries(Object.entries(treaty).toReversed())))['reason']).toBe('accepted')
    })

    it('that was revoked is locally_revoked', async () => {
      const treaty = await issue()
      await revoke(treaty)
      expect((await verify(treaty))['reason']).toBe('locally_revoked')
      // Expected parties are checked first.
      expect((await verify(treaty, { expected_subject_sovereign_id: 'X' }))['reason']).toBe('wrong_subject')
    })

    it('that has ended is outside_validity_window, 300 s after its end', async () => {
      const own = new ManualClock()
      const alone = await startTestAuthority({ clock: own, settings: { NA_CLOCK_CHECK: 'off' } })
      try {
        const body = { subject_sovereign_id: 'P', subject_public_keys: [partner.publicKey], validity_hours: 1 }
        const treaty = accepted(await alone.as('privileged')('POST', '/admin/recognition-treaties', body), 201)
        const reason = async (): Promise<JsonValue | undefined> =>
          accepted(await alone.request('POST', '/recognition-treaties/verify', { body: { treaty } }))['reason']
        own.advance(3900)
        expect(await reason()).toBe('accepted')
        own.advance(0.000_001)
        expect(await reason()).toBe('outside_validity_window')
      } finally {
        await alone.stop()
      }
    })
  })

  describe('a partner’s treaty', () => {
    it('with keys in the request is the caller’s own verdict', async () => {
      const treaty = foreign(unknownSigner)
      expect(await verify(treaty, { issuer_public_keys: [partner.publicKey, unknownSigner.publicKey] })).toEqual({
        accepted: true,
        reason: 'accepted',
        trust_basis: 'caller_supplied_keys',
        counts_here: false,
        treaty_id: treaty['treaty_id'],
        issuer_sovereign_id: 'STRANGER-NET',
        subject_sovereign_id: 'THIRD-NET',
      })
    })

    it('without keys and without an own treaty for its issuer is issuer_not_recognized', async () => {
      for (const keys of [undefined, null, []]) {
        const more = keys === undefined ? {} : { issuer_public_keys: keys }
        expect(await verify(foreign(unknownSigner), more)).toMatchObject({
          accepted: false,
          reason: 'issuer_not_recognized',
          trust_basis: 'recognized_issuer_keys',
        })
      }
      // Before expected parties are compared.
      expect((await verify(foreign(unknownSigner), { expected_issuer_sovereign_id: 'X' }))['reason']).toBe(
        'issuer_not_recognized',
      )
    })

    it('without keys is verified with those that own treaties in force pin', async () => {
      const [first, second] = [foreignSovereign('PINNED-NET'), foreignSovereign('PINNED-NET', 'second-key')]
      const subject_sovereign_id = 'PINNED-NET'
      const [a, b] = [
        await issue({ subject_sovereign_id, subject_public_keys: [first.publicKey] }),
        await issue({ subject_sovereign_id, subject_public_keys: [second.publicKey] }),
      ]
      const reasons = async (): Promise<unknown[]> => [
        (await verify(foreign(first)))['reason'],
        (await verify(foreign(second)))['reason'],
      ]
      expect(await reasons()).toEqual(['accepted', 'accepted'])
      await revoke(a)
      expect(await reasons()).toEqual(['invalid_signature', 'accepted'])
      await revoke(b)
      expect(await reasons()).toEqual(['issuer_not_recognized', 'issuer_not_recognized'])
    })

    it('is not verified with the keys of an expired own treaty', async () => {
      const own = new ManualClock()
      const alone = await startTestAuthority({ clock: own, settings: { NA_CLOCK_CHECK: 'off' } })
      try {
        const body = {
          subject_sovereign_id: 'PARTNER-NET',
          subject_public_keys: [partner.publicKey],
          validity_hours: 1,
        }
        accepted(await alone.as('privileged')('POST', '/admin/recognition-treaties', body), 201)
        const treaty = readJson(wireText(foreignTreaty(partner, third, own.now()))) as JsonObject
        const ask = async (): Promise<JsonObject> =>
          accepted(await alone.request('POST', '/recognition-treaties/verify', { body: { treaty } }))
        expect(await ask()).toMatchObject({ reason: 'accepted', trust_basis: 'recognized_issuer_keys' })
        own.advance(3600)
        expect(await ask()).toMatchObject({ reason: 'issuer_not_recognized' })
      } finally {
        await alone.stop()
      }
    })

    it.each<[string, () => JsonObject, JsonObject]>([
      ['wrong_issuer', () => foreign(), { expected_issuer_sovereign_id: 'OTHER-NET' }],
      ['wrong_subject', () => foreign(), { expected_subject_sovereign_id: 'OTHER-NET' }],
      [
        'accepted',
        () => foreign(),
        { expected_issuer_sovereign_id: 'PARTNER-NET', expected_subject_sovereign_id: 'THIRD-NET' },
      ],
      ['accepted', () => foreign(), { expected_issuer_sovereign_id: null, expected_subject_sovereign_id: null }],
      ['bad_status', () => foreign(partner, { status: 'suspended' }), {}],
      [
        'outside_validity_window',
        () => foreign(partner, { valid_from: '2027-01-01T00:00:00Z', expires_at: '2028-01-01T00:00:00Z' }),
        {},
      ],
      ['missing_signature', () => ({ ...foreign(), signatures: [] }), {}],
      ['invalid_signature', () => ({ ...foreign(), issued_by: 'x' }), {}],
      // Order by pairs.
      [
        'wrong_issuer',
        () => ({ ...foreign(), signatures: [] }),
        { expected_issuer_sovereign_id: 'X', expected_subject_sovereign_id: 'X' },
      ],
      ['wrong_subject', () => foreign(partner, { status: 'revoked' }), { expected_subject_sovereign_id: 'X' }],
      [
        'bad_status',
        () =>
          foreign(partner, {
            status: 'revoked',
            valid_from: '2027-01-01T00:00:00Z',
            expires_at: '2028-01-01T00:00:00Z',
          }),
        {},
      ],
      [
        'outside_validity_window',
        () => ({
          ...foreign(partner, { valid_from: '2027-01-01T00:00:00Z', expires_at: '2028-01-01T00:00:00Z' }),
          signatures: [],
        }),
        {},
      ],
    ])('%s', async (reason, treaty, more) => {
      expect(await verify(treaty(), { issuer_public_keys: [partner.publicKey], ...more })).toMatchObject({
        reason,
        accepted: reason === 'accepted',
      })
    })

    it('with the id of an own revoked treaty is not confused with it', async () => {
      const own = await issue()
      await revoke(own)
      const treaty = foreign(partner, { treaty_id: String(own['treaty_id']) })
      expect((await verify(treaty, { issuer_public_keys: [partner.publicKey] }))['reason']).toBe('accepted')
    })

    it('fills in defaults before it verifies', async () => {
      const { metadata: _metadata, status: _status, ...treaty } = foreign()
      expect((await verify(treaty, { issuer_public_keys: [partner.publicKey] }))['reason']).toBe('accepted')
    })
  })

  describe('422 and 400', () => {
    it.each<[string, () => JsonObject]>([
      ['nothing', () => ({})],
      ['null', () => ({ treaty: null })],
      ['a list', () => ({ treaty: [] })],
      ['an unknown member', () => ({ treaty: { ...foreign(), extra: 1 } })],
      ['no keys of the subject', () => ({ treaty: { ...foreign(), subject_public_keys: [] } })],
      ['the form before the keys', () => ({ treaty: {}, issuer_public_keys: 'x' })],
      ['an expected issuer that is not a string', () => ({ treaty: foreign(), expected_issuer_sovereign_id: 7 })],
    ])('%s is invalid_recognition_treaty', async (_what, body) => {
      refused(await post(body()), 422, 'invalid_recognition_treaty')
    })

    it.each<JsonValue>([
      'x',
      {},
      7,
      true,
      ['x'],
      [null],
      [7],
      [[]],
      [partner.publicKey, 'x'],
      Array<string>(65).fill(partner.publicKey),
    ])('the keys %j are invalid_public_keys', async (keys) => {
      refused(await post({ treaty: foreign(), issuer_public_keys: keys }), 400, 'invalid_public_keys')
    })
  })
})
