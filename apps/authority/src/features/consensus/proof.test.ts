import { JsonFloat, type JsonObject, type JsonValue, readJson, seconds, seedSigner, signOnce } from '@chancery/protocol'
import {
  ManualClock,
  accepted,
  detailsOf,
  eventsOf,
  foreignJustification,
  foreignSovereign,
  foreignVote,
  refused,
  startTestAuthority,
  testSeed,
  verifiesWithNodeCrypto,
  wireText,
} from '@chancery/testkit'
import type { ForeignObject, ForeignSovereign, JustificationIds, TestResponse, TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const clock = new ManualClock('2030-01-02T03:04:05Z')
const [v1, v2] = [foreignSovereign('v1-net'), foreignSovereign('v2-net')]
const [v3, v4] = [foreignSovereign('v3-net'), foreignSovereign('v4-net')]
const partner = foreignSovereign('PARTNER-NET')
const unknownSigner = foreignSovereign('STRANGER-NET')
let na: TestAuthority
let justification: JsonObject
let about: JustificationIds
beforeAll(async () => {
  na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
  const { signature: _other, ...draft } = foreignJustification(unknownSigner, clock.now(), {
    issuer_sovereign_id: 'TEST-NET',
  })
  justification = await signOnce(readJson(wireText(draft)) as JsonObject, await seedSigner('na-test', testSeed('na')))
  about = { proof_id: String(justification['proof_id']), decision_id: String(justification['decision_id']) }
  const scope = { allowed_roles: ['role:client'] }
  const treaty = { subject_sovereign_id: 'PARTNER-NET', subject_public_keys: [partner.publicKey], scope }
  accepted(await na.as('privileged')('POST', '/admin/recognition-treaties', treaty), 201)
})
afterAll(() => na.stop())

let turn = 0
/** Different enough from the last one to count as independent. */
function vote(by: ForeignSovereign, changes: ForeignObject = {}): JsonObject {
  turn = (turn + 1) % 5
  return foreignVote(by, about, clock.now() - seconds(turn * 60), changes)
}
const body = (changes: JsonObject = {}): JsonObject => ({
  justification_proof: justification,
  votes: [vote(v1), vote(v2)],
  required_threshold: 2,
  validator_sovereign_ids: ['v1-net', 'v2-net', 'v3-net'],
  ...changes,
})
const assemble = (changes: JsonObject = {}): Promise<TestResponse> =>
  na.as('standard')('POST', '/admin/consensus/proof', body(changes))
const PUBLIC_KEYS = { 'v1-net': v1.publicKey, 'v2-net': v2.publicKey }

describe('POST /admin/consensus/proof', () => {
  describe('201', () => {
    it('signs the votes as sent, for five minutes, and audits it', async () => {
      const votes = [vote(v1), vote(v2), vote(v3, { vote: false })]
      const answer = await assemble({ votes })
      const proof = accepted(answer, 201)
      expect(proof).toEqual({
        consensus_id: proof['consensus_id'],
        ...about,
        required_threshold: 2,
        validator_sovereign_ids: ['v1-net', 'v2-net', 'v3-net'],
        votes,
        reached_at: '2030-01-02T03:04:05Z',
        expires_at: '2030-01-02T03:09:05Z',
        cascade_assessment_digest: proof['cascade_assessment_digest'],
        signature: { key_id: 'na-test', sig: (proof['signature'] as JsonObject)['sig'] },
      })
      expect(proof['cascade_assessment_digest']).toMatch(/^[0-9a-f]{64}$/)
      expect(verifiesWithNodeCrypto(answer.text, na.genesis.network_authority.public_key)).toBe(true)
      const events = await eventsOf(na, answer)
      expect(events.map((event) => event['event_type'])).toEqual(['consensus_proof_assembled'])
      expect(detailsOf(events[0])).toMatchObject({ consensus_id: proof['consensus_id'], ...about })
    })

    it('is accepted by the verifier under the default assembler key', async () => {
      const proof = accepted(await assemble(), 201)
      const answer = await na.request('POST', '/consensus/verify', {
        body: { proof, validator_public_keys: PUBLIC_KEYS },
      })
      expect(accepted(answer)).toEqual({ valid: true, reason: 'valid', consensus_id: proof['consensus_id'] })
    })

    it('verifies votes with the given keys, and those of recognised sovereigns with the keys of the treaty', async () => {
      accepted(await assemble({ validator_public_keys: PUBLIC_KEYS }), 201)
      const far = foreignVote(partner, about, clock.now() - seconds(120))
      accepted(await assemble({ votes: [vote(v1), far], validator_sovereign_ids: ['v1-net', 'PARTNER-NET'] }), 201)
    })

    it('counts the own vote', async () => {
      const cast = { justification_proof: justification, vote: true }
      const own = accepted(await na.as('standard')('POST', '/admin/consensus/vote', cast), 201)
      const far = foreignVote(v1, about, clock.now() - seconds(120))
      accepted(await assemble({ votes: [own, far], validator_sovereign_ids: ['TEST-NET', 'v1-net'] }), 201)
    })
  })

  describe('400', () => {
    it.each<[string, JsonObject]>([
      ['no justification', { justification_proof: null }],
      ['no votes', { votes: null }],
      ['votes as an object', { votes: {} }],
      ['no validators', { validator_sovereign_ids: null }],
      ['validators as a string', { validator_sovereign_ids: 'v1-net' }],
      ['no threshold', { required_threshold: null }],
    ])('missing_proof_fields for %s', async (_name, changes) => {
      refused(await assemble(changes), 400, 'missing_proof_fields')
    })

    it.each<[string, () => JsonObject]>([
      ['a vote that is a string', () => ({ votes: ['x'] })],
      ['a vote without its time', () => ({ votes: [{ ...vote(v1), voted_at: null }] })],
      ['a vote of 1', () => ({ votes: [{ ...vote(v1), vote: 1 }] })],
      ['1025 votes', () => ({ votes: Array<JsonValue>(1025).fill(vote(v1)) })],
      ['a justification without trace', () => ({ justification_proof: { ...justification, trace: null } })],
      ['a validator that is a number', () => ({ validator_sovereign_ids: ['v1-net', 5] })],
    ])('invalid_input for %s', async (_name, changes) => {
      refused(await assemble(changes()), 400, 'invalid_input')
    })

    it.each<[string, JsonObject]>([
      ['zero', { required_threshold: 0 }],
      ['less than zero', { required_threshold: -1 }],
      ['more than the number of validators', { required_threshold: 4 }],
      ['a string', { required_threshold: '2' }],
      ['2.0', { required_threshold: new JsonFloat(2) }],
      ['true', { required_threshold: true }],
      ['two of one validator named twice', { validator_sovereign_ids: ['v1-net', 'v1-net'] }],
      ['one without validators', { required_threshold: 1, validator_sovereign_ids: [] }],
    ])('invalid_threshold for %s', async (_name, changes) => {
      refused(await assemble(changes), 400, 'invalid_threshold')
    })
  })

  describe('422', () => {
    it('justification_untrusted for one this authority did not sign', async () => {
      const foreign = readJson(wireText(foreignJustification(unknownSigner, clock.now())))
      refused(await assemble({ justification_proof: foreign }), 422, 'justification_untrusted')
    })

    it.each<[string, string, () => JsonObject]>([
      ['too few votes', 'threshold_not_met', () => ({ votes: [vote(v1)] })],
      ['one validator twice', 'threshold_not_met', () => ({ votes: [vote(v1), vote(v1)] })],
      ['a vote against', 'threshold_not_met', () => ({ votes: [vote(v1), vote(v2, { vote: false })] })],
      ['an unsigned vote', 'invalid_vote_signature', () => ({ votes: [vote(v1), { ...vote(v2), signature: null }] })],
      ['a validator that is not listed', 'vote_not_in_validator_set', () => ({ votes: [vote(v1), vote(v4)] })],
      ['another proof', 'proof_id_mismatch', () => ({ votes: [vote(v1), vote(v2, { proof_id: 'x' })] })],
      ['another decision', 'proof_id_mismatch', () => ({ votes: [vote(v1), vote(v2, { decision_id: 'x' })] })],
      [
        'identical votes',
        'cascade_detected',
        () => ({ votes: [vote(v1, { context_digest: 'same' }), vote(v2, { context_digest: 'same' })] }),
      ],
      [
        'an unsigned vote against',
        'invalid_vote_signature',
        () => ({ votes: [vote(v1), vote(v2), { ...vote(v3, { vote: false }), signature: null }] }),
      ],
      [
        'a vote against of a validator that is not listed',
        'vote_not_in_validator_set',
        () => ({ votes: [vote(v1), vote(v2), vote(v4, { vote: false })] }),
      ],
      [
        'a vote for and a vote against of one validator',
        'contradictory_votes',
        () => ({ votes: [vote(v1), vote(v2), vote(v3), vote(v3, { vote: false })] }),
      ],
      [
        'a vote under another key than the given one',
        'invalid_vote_signature',
        () => ({ validator_public_keys: { ...PUBLIC_KEYS, 'v2-net': v3.publicKey } }),
      ],
      [
        'a vote without a given key',
        'unknown_validator_key',
        () => ({ validator_public_keys: { 'v1-net': v1.publicKey } }),
      ],
      [
        'two validators with one key',
        'duplicate_validator_key',
        () => ({
          votes: [vote(v1), readJson(wireText(v1.signOnce(vote(v2), 'v2-net')))],
          validator_public_keys: { 'v1-net': v1.publicKey, 'v2-net': v1.publicKey },
        }),
      ],
      [
        'a forged vote of a recognised sovereign',
        'invalid_vote_signature',
        () => ({
          votes: [vote(v1), vote(unknownSigner, { validator_sovereign_id: 'PARTNER-NET' })],
          validator_sovereign_ids: ['v1-net', 'PARTNER-NET'],
        }),
      ],
      [
        'an own vote under another given key',
        'invalid_vote_signature',
        () => ({
          votes: [vote(v1), vote(unknownSigner, { validator_sovereign_id: 'TEST-NET' })],
          validator_sovereign_ids: ['v1-net', 'TEST-NET'],
          validator_public_keys: { 'v1-net': v1.publicKey, 'TEST-NET': unknownSigner.publicKey },
        }),
      ],
      [
        'a vote forged in the own name',
        'invalid_vote_signature',
        () => ({
          votes: [vote(v1), vote(unknownSigner, { validator_sovereign_id: 'TEST-NET' })],
          validator_sovereign_ids: ['v1-net', 'TEST-NET'],
        }),
      ],
      [
        'an unsigned vote in the own name that would not count',
        'invalid_vote_signature',
        () => ({ votes: [vote(v1), vote(v2), { ...vote(v4), validator_sovereign_id: 'TEST-NET', signature: null }] }),
      ],
    ])('proof_assembly_failed for %s', async (_name, reason, changes) => {
      const answer = await assemble(changes())
      expect(refused(answer, 422, 'proof_assembly_failed')['details']).toEqual({ reason })
      expect(await eventsOf(na, answer)).toEqual([])
    })
  })

  describe('401', () => {
    it('is for operators', async () => {
      refused(await na.request('POST', '/admin/consensus/proof', { body: body() }), 401, 'admin_auth_failed')
    })
  })
})
