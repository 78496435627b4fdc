import { type JsonObject, type JsonValue, readJson, seconds, writeInstant } from '@chancery/protocol'
import {
  accepted,
  eventsOfCallers,
  foreignConsensus,
  foreignSovereign,
  foreignVote,
  ManualClock,
  refused,
  startTestAuthority,
  wireText,
} from '@chancery/testkit'
import type { ForeignObject, ForeignSovereign, TestResponse, TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const clock = new ManualClock('2030-01-02T03:04:05Z')
const validators = ['v1-net', 'v2-net', 'v3-net', 'v4-net'].map((name) => foreignSovereign(name))
const [v1, v2, v3, v4] = validators as [ForeignSovereign, ForeignSovereign, ForeignSovereign, ForeignSovereign]
const assembler = foreignSovereign('ASSEMBLER-NET')
const ABOUT = { proof_id: 'proof-1', decision_id: 'decision-1' }
let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
})
afterAll(() => na.stop())

let turn = 0
function vote(by: ForeignSovereign, changes: ForeignObject = {}): ForeignObject {
  turn = (turn + 1) % 5
  return foreignVote(by, ABOUT, clock.now() - seconds(turn * 60), changes)
}
const proofOf = (votes: readonly ForeignObject[], changes: ForeignObject = {}): JsonObject =>
  readJson(wireText(foreignConsensus(assembler, ABOUT, clock.now(), { votes, ...changes }))) as JsonObject
const two = (): ForeignObject[] => [vote(v1), vote(v2)]
const publicKeys = Object.fromEntries(validators.map((each) => [each.sovereign_id, each.publicKey]))
const BY: JsonObject = { validator_public_keys: publicKeys, assembler_public_keys: [assembler.publicKey] }
const post = (body: JsonObject): Promise<TestResponse> => na.request('POST', '/consensus/verify', { body })

async function reason(proof: JsonObject, changes: JsonObject = {}): Promise<string> {
  const answer = accepted(await post({ proof, ...BY, ...changes }))
  expect(answer).toEqual({
    valid: answer['reason'] === 'valid',
    reason: answer['reason'],
    consensus_id: proof['consensus_id'],
  })
  return String(answer['reason'])
}

describe('POST /consensus/verify', () => {
  it('accepts a partner’s proof under the given keys and writes nothing', async () => {
    const before = (await eventsOfCallers(na)).length
    expect(await reason(proofOf(two()))).toBe('valid')
    expect(await reason(proofOf(two()), { validator_public_keys: { ...publicKeys, more: 'no key' } })).toBe('valid')
    expect((await eventsOfCallers(na)).length).toBe(before)
  })

  it.each<[string, () => JsonObject, JsonObject?]>([
    ['missing_signature', () => ({ ...proofOf(two()), signature: null })],
    ['invalid_assembler_signature', () => proofOf(two()), { assembler_public_keys: null }],
    ['invalid_assembler_signature', () => ({ ...proofOf(two()), required_threshold: 1 })],
    ['invalid_assembler_signature', () => proofOf(two(), { extra: 1 })],
    ['invalid_assembler_signature', () => proofOf([vote(v1), vote(v2, { extra: 1 })])],
    ['proof_id_mismatch', () => proofOf([vote(v1), vote(v2, { proof_id: 'x' })])],
    ['proof_id_mismatch', () => proofOf([vote(v1), vote(v2, { decision_id: 'x' })])],
    ['invalid_vote_signature', () => proofOf([vote(v1), { ...vote(v2), signature: null }])],
    ['invalid_vote_signature', () => proofOf([vote(v1), { ...vote(v2, { vote: false }), vote: true }])],
    ['invalid_vote_signature', () => proofOf([...two(), vote(v4, { vote: false, validator_sovereign_id: 'v3-net' })])],
    ['unknown_validator_key', () => proofOf(two()), { validator_public_keys: { 'v1-net': v1.publicKey } }],
    ['unknown_validator_key', () => proofOf(two()), { validator_public_keys: { ...publicKeys, 'v2-net': 5 } }],
    ['vote_not_in_validator_set', () => proofOf([...two(), vote(v4)])],
    ['threshold_not_met', () => proofOf([vote(v1), vote(v1)])],
    ['threshold_not_met', () => proofOf(two(), { required_threshold: 0 })],
    ['missing_context_digest', () => proofOf([vote(v1), vote(v2, { context_digest: null })])],
    ['cascade_detected', () => proofOf([vote(v1, { context_digest: 'x' }), vote(v3, { context_digest: 'x' })])],
    ['expired', () => proofOf(two(), { expires_at: writeInstant(clock.now()) })],
  ])('%s', async (expected, make, changes) => {
    expect(await reason(make(), changes)).toBe(expected)
  })

  it('serves other requests while it verifies a thousand votes', async () => {
    const votes = Array.from({ length: 1024 }, () => vote(v1))
    const proof = proofOf(votes, { required_threshold: 1 })
    const pending = reason(proof)
    let answered = 0
    let isDone = false
    void pending.finally(() => (isDone = true))
    while (!isDone) {
      await na.request('GET', '/healthz')
      answered += 1
    }
    expect(await pending).toBe('valid')
    // If votes were verified on the event loop, it would respond once before and once after.
    expect(answered).toBeGreaterThan(5)
  })

  describe('400', () => {
    it('missing_proof without one', async () => {
      refused(await post(BY), 400, 'missing_proof')
      refused(await post({ ...BY, proof: null }), 400, 'missing_proof')
    })

    it.each<[string, (proof: JsonObject) => JsonValue]>([
      ['a string', () => 'x'],
      ['a vote that is a string', (proof) => ({ ...proof, votes: ['x'] })],
      ['no id', (proof) => ({ ...proof, consensus_id: null })],
      ['an unreadable time', (proof) => ({ ...proof, expires_at: 'soon' })],
      ['a threshold as a string', (proof) => ({ ...proof, required_threshold: '2' })],
      ['1025 votes', (proof) => ({ ...proof, votes: Array<JsonValue>(1025).fill(vote(v1)) })],
    ])('invalid_proof for %s', async (_name, change) => {
      refused(await post({ ...BY, proof: change(proofOf(two())) }), 400, 'invalid_proof')
    })

    it.each<[string, JsonValue]>([
      ['nothing', null],
      ['a list', []],
      ['an empty object', {}],
      ['a string', 'x'],
    ])('missing_validator_public_keys for %s', async (_name, keys) => {
      const body = { proof: proofOf(two()), validator_public_keys: keys }
      refused(await post(body), 400, 'missing_validator_public_keys')
    })

    it('invalid_public_keys for one key under two names, and for malformed assembler keys', async () => {
      const shared = { ...publicKeys, 'v2-net': v1.publicKey }
      refused(await post({ ...BY, proof: proofOf(two()), validator_public_keys: shared }), 400, 'invalid_public_keys')
      for (const keys of ['x', {}, [5], ['AAAA']])
        refused(await post({ ...BY, proof: proofOf(two()), assembler_public_keys: keys }), 400, 'invalid_public_keys')
    })
  })
})
