import { createHash } from 'node:crypto'
import { type JsonObject, type JsonValue, readJson, seedSigner, signOnce, toUtf8, writeJson } from '@chancery/protocol'
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
import type { ForeignObject, ForeignSovereign, TestResponse, TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const clock = new ManualClock('2030-01-02T03:04:05Z')
const partner = foreignSovereign('PARTNER-NET')
const unknownSigner = foreignSovereign('STRANGER-NET')
let na: TestAuthority
let justification: JsonObject
beforeAll(async () => {
  na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
  justification = await ownJustification()
  const scope = { allowed_roles: ['role:client'] }
  const treaty = { subject_sovereign_id: 'PARTNER-NET', subject_public_keys: [partner.publicKey], scope }
  accepted(await na.as('privileged')('POST', '/admin/recognition-treaties', treaty), 201)
})
afterAll(() => na.stop())

/** As this authority signs it. No route of this feature makes one. */
async function ownJustification(changes: ForeignObject = {}): Promise<JsonObject> {
  const { signature: _other, ...draft } = foreignJustification(unknownSigner, clock.now(), {
    issuer_sovereign_id: 'TEST-NET',
    ...changes,
  })
  return signOnce(readJson(wireText(draft)) as JsonObject, await seedSigner('na-test', testSeed('na')))
}
/** A proof that another authority signed. */
function foreign(issuer: ForeignSovereign, changes: ForeignObject = {}): JsonObject {
  return readJson(wireText(foreignJustification(issuer, clock.now(), changes))) as JsonObject
}
async function evaluated(): Promise<{ decision: JsonObject; justification_proof: JsonObject }> {
  const member = { subject_id: 'vendor', roles: ['role:client'] }
  const { attestation_id } = accepted(await na.as('privileged')('POST', '/admin/attestations', member), 201)
  const request = { attestation_id: attestation_id ?? null, requested_capability: 'ledger.read' }
  const answer = accepted(await na.as('standard')('POST', '/admin/boundary/evaluate', request), 201)
  return answer as { decision: JsonObject; justification_proof: JsonObject }
}
const cast = (changes: JsonObject = {}, as = 'standard'): Promise<TestResponse> =>
  na.as(as)('POST', '/admin/consensus/vote', { justification_proof: justification, vote: true, ...changes })

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
        issuer_sovereign_id: 'TEST-NET',
        trust_basis: 'this_authority',
      })
    })

    it('votes on the proof of another authority that a treaty recognises', async () => {
      const proof = foreign(partner)
      const answer = await cast({ justification_proof: proof })
      const vote = accepted(answer, 201)
      expect(vote).toMatchObject({ validator_sovereign_id: 'TEST-NET', proof_id: proof['proof_id'] })
      expect(detailsOf((await eventsOf(na, answer))[0])).toMatchObject({
        issuer_sovereign_id: 'PARTNER-NET',
        trust_basis: 'recognized_issuer_keys',
      })
      const { recent_changes } = accepted(await na.request('GET', '/dashboard.json'))
      const shown = (recent_changes as JsonObject[]).map(({ event_type, details }) => [
        event_type,
        (details as JsonObject)['issuer_sovereign_id'],
      ])
      expect(shown).toContainEqual(['validator_vote_cast', 'PARTNER-NET'])
    })

    it('votes with keys that a privileged operator supplies, and audits other keys than those of a treaty', async () => {
      const keys = { justification_public_keys: [unknownSigner.publicKey] }
      const answer = await cast({ justification_proof: foreign(unknownSigner), ...keys }, 'privileged')
      accepted(answer, 201)
      const [event] = await eventsOf(na, answer)
      expect(detailsOf(event)).toMatchObject({ trust_basis: 'caller_supplied_keys' })
      expect(detailsOf(event)).not.toHaveProperty('differs_from_pinned')
      const renamed = foreign(unknownSigner, { issuer_sovereign_id: 'PARTNER-NET' })
      const other = await cast({ justification_proof: renamed, ...keys }, 'privileged')
      accepted(other, 201)
      expect(detailsOf((await eventsOf(na, other))[0])).toMatchObject({ differs_from_pinned: true })
    })

    it('votes on a proof with its decision', async () => {
      const { decision, justification_proof } = await evaluated()
      accepted(await cast({ justification_proof, decision }), 201)
      const text = { justification_proof_text: writeJson(justification_proof), decision_text: writeJson(decision) }
      accepted(await na.as('standard')('POST', '/admin/consensus/vote', { ...text, vote: true }), 201)
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

  describe('keys of the issuer', () => {
    it.each<[string, JsonValue]>([
      ['none', []],
      ['a short one', ['abc']],
      ['a text', 'x'],
      ['one twice', [unknownSigner.publicKey, unknownSigner.publicKey]],
      ['17', Array.from({ length: 17 }, (_, at) => foreignSovereign(`v-${at}`).publicKey)],
    ])('invalid_public_keys for %s', async (_name, keys) => {
      refused(await cast({ justification_public_keys: keys }, 'privileged'), 400, 'invalid_public_keys')
    })

    it('need a privileged operator, and the refusal is audited', async () => {
      const keys = { justification_public_keys: [unknownSigner.publicKey] }
      const answer = await cast({ justification_proof: foreign(unknownSigner), ...keys })
      refused(answer, 403, 'insufficient_operator_tier')
      expect((await eventsOf(na, answer)).map((event) => event['event_type'])).toEqual(['admin_authz_denied'])
    })

    it('do not count for an own proof', async () => {
      const keys = { justification_public_keys: [unknownSigner.publicKey] }
      refused(await cast(keys, 'privileged'), 422, 'caller_keys_not_accepted')
    })
  })

  describe('422', () => {
    it.each<[string, () => JsonObject | Promise<JsonObject>]>([
      ['unknown_issuer', () => ({ justification_proof: foreign(unknownSigner) })],
      ['missing_signature', () => ({ justification_proof: { ...foreign(partner), signature: null } })],
      ['invalid_signature', () => ({ justification_proof: { ...foreign(partner), decision_id: 'other' } })],
      [
        'decision_mismatch',
        async () => ({ ...(await evaluated()), justification_proof: (await evaluated()).justification_proof }),
      ],
      [
        'decision_mismatch',
        async () => {
          const { decision, justification_proof } = await evaluated()
          return { justification_proof, decision: { ...decision, context_id: 'other' } }
        },
      ],
    ])('justification_untrusted with the reason %s', async (reason, make) => {
      const answer = await cast(await make())
      expect(refused(answer, 422, 'justification_untrusted')['details']).toEqual({ reason })
    })

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
