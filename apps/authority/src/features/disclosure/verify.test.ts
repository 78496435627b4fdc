import { type JsonObject, type JsonValue, readJson } from '@chancery/protocol'
import {
  accepted,
  eventsOfCallers,
  foreignCommitment,
  foreignProof,
  foreignSovereign,
  ManualClock,
  refused,
  startTestAuthority,
  wireText,
} from '@chancery/testkit'
import type { ForeignObject, TestResponse, TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const clock = new ManualClock('2030-01-02T03:04:05Z')
const issuer = foreignSovereign('ISSUER-NET')
const other = foreignSovereign('OTHER-NET')
const CAPABILITIES = ['a', 'b', 'c']
let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
})
afterAll(() => na.stop())

const KEYS = { issuer_public_keys: [other.publicKey, issuer.publicKey] }
const json = (value: ForeignObject): JsonObject => readJson(wireText(value)) as JsonObject
const commit = (changes: ForeignObject = {}): JsonObject =>
  json(foreignCommitment(issuer, clock.now(), CAPABILITIES, changes))
const prove = (commitment: JsonObject, capability = 'a'): JsonObject =>
  json(foreignProof(commitment, clock.now(), CAPABILITIES, capability))
const post = (body: JsonObject): Promise<TestResponse> => na.request('POST', '/disclosure/verify', { body })

async function reason(proof: JsonObject, commitment: JsonObject, more: JsonObject = KEYS): Promise<string> {
  const answer = accepted(await post({ proof, commitment, ...more }))
  expect(answer).toEqual({
    valid: answer['reason'] === 'valid',
    reason: answer['reason'],
    commitment_id: commitment['commitment_id'],
    warning: 'unsalted: hidden names can be guessed',
  })
  return String(answer['reason'])
}

describe('POST /disclosure/verify', () => {
  it('accepts a partner’s proof under one of the keys and writes nothing', async () => {
    const before = (await eventsOfCallers(na)).length
    const commitment = commit()
    for (const capability of CAPABILITIES) expect(await reason(prove(commitment, capability), commitment)).toBe('valid')
    expect((await eventsOfCallers(na)).length).toBe(before)
  })

  it('gives each reason of the table', async () => {
    const commitment = commit()
    const proof = prove(commitment)
    const path = proof['merkle_path'] as readonly JsonValue[]
    expect(await reason(proof, { ...commitment, signature: null })).toBe('commitment_not_signed')
    expect(await reason(proof, commitment, {})).toBe('commitment_invalid_signature')
    expect(await reason(proof, { ...commitment, agreement_id: 'x' })).toBe('commitment_invalid_signature')
    expect(await reason(proof, { ...commitment, extra: 1 })).toBe('commitment_invalid_signature')
    const extended = commit({ extra: 1 })
    expect(await reason(prove(extended), extended)).toBe('commitment_invalid_signature')
    expect(await reason({ ...proof, merkle_path: path.slice(1) }, commitment)).toBe('path_length_inconsistent')
    expect(await reason({ ...proof, merkle_path: [...path, ...path] }, commitment)).toBe('path_length_inconsistent')
    expect(await reason({ ...proof, revealed_capability: 'b' }, commitment)).toBe('leaf_hash_mismatch')
    expect(await reason({ ...proof, revealed_capability: '' }, commitment)).toBe('leaf_hash_mismatch')
    expect(await reason({ ...proof, merkle_path: path.toReversed() }, commitment)).toBe('root_mismatch')
    expect(await reason({ ...proof, commitment_id: 'another' }, commitment)).toBe('root_mismatch')
  })

  it('400 missing_verify_fields without one of the two', async () => {
    refused(await post({ commitment: commit() }), 400, 'missing_verify_fields')
    refused(await post({ proof: prove(commit()), commitment: null }), 400, 'missing_verify_fields')
  })

  it.each<[string, (proof: JsonObject, commitment: JsonObject) => JsonObject]>([
    ['a proof that is a string', (_proof, commitment) => ({ proof: 'x', commitment })],
    ['a leaf of 63 digits', (proof, commitment) => ({ proof: { ...proof, leaf_hash: '0'.repeat(63) }, commitment })],
    [
      'a sibling that is not a digest',
      (proof, commitment) => ({ proof: { ...proof, merkle_path: [{ sibling_hash: 'x', is_left: true }] }, commitment }),
    ],
    [
      'a side that is 1',
      (proof, commitment) => ({
        proof: { ...proof, merkle_path: [{ sibling_hash: '0'.repeat(64), is_left: 1 }] },
        commitment,
      }),
    ],
    [
      'a path of 1025 steps',
      (proof, commitment) => ({
        proof: {
          ...proof,
          merkle_path: Array.from({ length: 1025 }, () => ({ sibling_hash: '0'.repeat(64), is_left: true })),
        },
        commitment,
      }),
    ],
    [
      'a root that is not a digest',
      (proof, commitment) => ({ proof, commitment: { ...commitment, merkle_root: 'x' } }),
    ],
  ])('400 invalid_input for %s', async (_name, change) => {
    const commitment = commit()
    refused(await post({ ...change(prove(commitment), commitment), ...KEYS }), 400, 'invalid_input')
  })

  it.each<[string, JsonValue]>([
    ['a string', 'x'],
    ['an object', {}],
    ['a number', [5]],
    ['a short key', ['AAAA']],
    ['65 keys', Array<string>(65).fill(issuer.publicKey)],
  ])('400 invalid_public_keys for %s', async (_name, keys) => {
    const commitment = commit()
    refused(await post({ proof: prove(commitment), commitment, issuer_public_keys: keys }), 400, 'invalid_public_keys')
  })
})
