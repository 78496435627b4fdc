import { createHash } from 'node:crypto'
import { readJson, seedSigner, signOnce, toUtf8 } from '@chancery/protocol'
import type { JsonObject, JsonValue } from '@chancery/protocol'
import {
  ManualClock,
  accepted,
  detailsOf,
  eventsOf,
  foreignJustification,
  foreignSovereign,
  refused,
  startTestAuthority,
  testSeed,
  verifiesWithNodeCrypto,
  wireText,
} from '@chancery/testkit'
import type { ForeignObject, TestResponse, TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const clock = new ManualClock('2030-01-02T03:04:05Z')
const unknownSigner = foreignSovereign('STRANGER-NET')
let na: TestAuthority
let justification: JsonObject
beforeAll(async () => {
  na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
  justification = await ownJustification()
})
afterAll(() => na.stop())

/** As this authority signs it. No route of this feature makes one. */
async function ownJustification(changes: ForeignObject = {}): Promise<JsonObject> {
  const { signature: _other, ...draft } = foreignJustification(unknownSigner, clock.now(), changes)
  return signOnce(readJson(wireText(draft)) as JsonObject, await seedSigner('na-test', testSeed('na')))
}
const cast = (changes: JsonObject = {}): Promise<TestResponse> =>
  na.as('standard')('POST', '/admin/consensus/vote', { justification_proof: justification, vote: true, ...changes })

describe('POST /admin/consensus/vote', () => {
  describe('201', () => {
    it('signs the vote of this sovereign and audits it', async () => {
      const answer = await cast({ reason: 'looks right' })
      const vote = accepted(answer, 201)
      expect(vote).toEqual({
        vote_id: vote['vote_id'],
        proof_id: justification['proof_id'],
        decision_id: justification['decision_id'],
        validator_sovereign_id: 'TEST-NET',
        vote: true,
        reason: 'looks right',
        voted_at: '2030-01-02T03:04:05Z',
        context_digest: vote['context_digest'],
        signature: { key_id: 'TEST-NET', sig: (vote['signature'] as JsonObject)['sig'] },
      })
      expect(verifiesWithNodeCrypto(answer.text, na.genesis.network_authority.public_key)).toBe(true)
      const events = await eventsOf(na, answer)
      expect(events.map((event) => event['event_type'])).toEqual(['validator_vote_cast'])
      expect(detailsOf(events[0])).toMatchObject({
        vote_id: vote['vote_id'],
        proof_id: justification['proof_id'],
        decision_id: justification['decision_id'],
      })
    })

    it('against, and without a reason', async () => {
      expect(accepted(await cast({ vote: false, reason: null }), 201)).toMatchObject({ vote: false, reason: null })
    })

    it('uses a new context each time', async () => {
      const [one, two] = [accepted(await cast(), 201), accepted(await cast(), 201)]
      expect(one['context_digest']).toMatch(/^[0-9a-f]{64}$/)
      expect(one['context_digest']).not.toBe(two['context_digest'])
      const empty = createHash('sha256').update(toUtf8('')).digest('hex')
      expect(one['context_digest']).not.toBe(empty)
    })
  })

  describe('400', () => {
    it.each<[string, JsonObject]>([
      ['no justification', { justification_proof: null }],
      ['no vote', { vote: null }],
    ])('missing_vote_fields for %s', async (_name, changes) => {
      refused(await cast(changes), 400, 'missing_vote_fields')
    })

    it.each<JsonValue>(['true', 1, 0, [], {}])('invalid_vote_type for %j', async (value) => {
      refused(await cast({ vote: value }), 400, 'invalid_vote_type')
    })

    it.each<[string, () => JsonObject]>([
      ['a string', () => ({ justification_proof: 'x' })],
      ['no trace', () => ({ justification_proof: { ...justification, trace: null } })],
      [
        'entries as a string',
        () => ({
          justification_proof: { ...justification, trace: { ...(justification['trace'] as JsonObject), entries: 'x' } },
        }),
      ],
      ['a number as reason', () => ({ reason: 5 })],
    ])('invalid_justification for %s', async (_name, changes) => {
      refused(await cast(changes()), 400, 'invalid_justification')
    })
  })

  describe('422', () => {
    it.each<[string, () => Promise<JsonValue> | JsonValue]>([
      ['signed by another', () => readJson(wireText(foreignJustification(unknownSigner, clock.now())))],
      ['unsigned', () => ({ ...justification, signature: null })],
      ['changed since', () => ({ ...justification, decision_id: 'other' })],
      ['with an unknown member, signed by this authority', () => ownJustification({ extra: 1 })],
    ])('justification_untrusted for one %s', async (_name, make) => {
      const answer = await cast({ justification_proof: await make() })
      refused(answer, 422, 'justification_untrusted')
      expect(await eventsOf(na, answer)).toEqual([])
    })
  })

  describe('401', () => {
    it('is for operators', async () => {
      refused(await na.request('POST', '/admin/consensus/vote', { body: {} }), 401, 'admin_auth_failed')
    })
  })
})
